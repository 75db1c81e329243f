import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const source = fileURLToPath(new URL("../../src/", import.meta.url));
const files = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .map((file) => ({ file, text: readFileSync(`${source}${file}`, "utf8") }));
const importing = (pattern: string) => {
  const statement = new RegExp(`^(?:import|export) (?!type)[^;]*?from "${pattern}";`, "m");
  return files.filter(({ text }) => statement.test(text)).map(({ file }) => file);
};

it("only modules that are imported dynamically import the OpenTelemetry SDK", () => {
  const users = importing('@opentelemetry/[^"]+');
  expect(users.sort()).toEqual(
    ["diagnostics", "otlp-metrics", "otlp-tracing", "resource"].map(
      (name) => `telemetry/otlp/${name}.ts`,
    ),
  );
  for (const user of users) {
    const name = user.replace(/^.*\/(.*)\.ts$/, "$1");
    expect(importing(`[^"]*/${name}\\.js`), user).toEqual([]);
  }
});
