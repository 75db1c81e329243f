import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "../../scripts/build/paths.mjs";
import { serverOptions } from "../../src/config/options.js";

/** Options that the Helm chart sets itself, from values with other names, and secrets: those are no arguments. */
const OF_THE_CHART = [
  "root",
  "host",
  "port",
  "auth",
  "api-key",
  "api-key-file",
  "catalog-key",
  "tls-cert",
  "tls-key",
  "catalog",
  "storage-option",
  "drain-timeout",
];

it("the Helm chart accepts every option of joust serve that it does not set itself", () => {
  const file = join(root, "packaging", "helm", "joust", "values.schema.json");
  const schema = JSON.parse(readFileSync(file, "utf8"));
  const others = Object.keys(serverOptions).filter((name) => !OF_THE_CHART.includes(name));
  expect([...schema.properties.options.propertyNames.enum].sort()).toEqual(others.sort());
});
