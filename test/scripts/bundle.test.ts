import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { isExternal } from "../../scripts/build/bundle.mjs";
import { PACKAGE_CHUNKS } from "../../scripts/build/bundled.mjs";
import { root as checkout } from "../../scripts/build/paths.mjs";

const dist = join(checkout, "dist");

/** The static imports of a file of the bundle, in their order. */
const imports = (file: string): string[] =>
  [...readFileSync(join(dist, file), "utf8").matchAll(/^import (?:[^;]*? from )?"([^"]+)";/gm)].map(
    ([, path]) => path as string,
  );

/** The files of the bundle and the installed packages that the load of a file of the bundle loads too. */
function loadedWith(start: string): { files: string[]; packages: string[] } {
  const files = new Set([start]);
  const packages = new Set<string>();
  for (const file of files) {
    for (const path of imports(file)) {
      if (path.startsWith(".")) files.add(relative(dist, join(dist, dirname(file), path)));
      else packages.add(path);
    }
  }
  return { files: [...files], packages: [...packages] };
}

describe("the bundle", () => {
  it.each(["cli/main.js", "server/worker.js"])(
    "sets the size of the young generation in %s before it loads anything else",
    (file) => {
      expect(imports(file)[0]).toBe("../chunks/young-generation.js");
    },
  );

  it.each([
    ["chunks/serve.js", "chunks/pino.js"],
    ["chunks/start.js", "chunks/prom-client.js"],
    ["server/worker.js", "chunks/pino.js"],
  ])("loads with %s no package that only some servers need", (file, needed) => {
    const { files, packages } = loadedWith(file);
    expect(files).toContain(needed);
    const optional = /^(?:@opentelemetry\/|pg$|jose$|yaml$|apache-arrow$|fflate$)/;
    expect(packages.filter((name) => optional.test(name))).toEqual([]);
  });

  it("has the packages that it contains in files of their own", () => {
    const files = readdirSync(join(dist, "chunks"));
    const packages = Object.keys(PACKAGE_CHUNKS).map((name) => `${name}.js`);
    expect(files).toEqual(expect.arrayContaining(packages));
    expect(files).toContain("server.js");
  });

  it("contains modules by their path, on Windows too, and imports installed packages", () => {
    expect(isExternal("./routes.js", undefined, false)).toBe(false);
    expect(isExternal("C:\\joust\\build\\http\\routes.js", undefined, true)).toBe(false);
    expect(isExternal("kysely", undefined, false)).toBe(false);
    expect(isExternal("@sinclair/typebox/compiler", undefined, false)).toBe(false);
    expect(isExternal("pg", undefined, false)).toBe(true);
    expect(isExternal("@opentelemetry/core", undefined, false)).toBe(true);
    expect(isExternal("../../native/index.js", undefined, false)).toBe(true);
  });
});
