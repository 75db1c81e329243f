import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { openApiDocument } from "../../../src/api/openapi/document.js";
import { contract } from "../../../src/operations/index.js";
import { differences } from "./compare.js";

/** The public interface, if it is available beside the checkout. */
const file = fileURLToPath(new URL("../../../../shared/contract/openapi.yaml", import.meta.url));

/** Intentional differences: a pattern of the line in `differences`, and the reason. */
const wanted: [RegExp, string][] = [
  [/ [>!].*\.context: missing$/, "clients make it out of the reply's headers"],
  [
    /: (minLength|minItems) 1$/,
    "what is empty names nothing, and a list of nothing asks for nothing",
  ],
  [/\.(concurrency|num_frags|max_rows_per_fragment): minimum 1$/, "none of them would do nothing"],
  [
    /\.((min_|max_)?checkpoint|source_task)_size: minimum 1$/,
    "a call without rows would never end",
  ],
  [/\.output_limit: minimum 1$/, "a view that may have no rows needs no refresh"],
  [/[?.]limit: minimum 1$/, "a page of no items never ends"],
  [/^MergeInsertIntoTable \?on: string/, "may be repeated, for keys of several fields"],
  [/\.operations\[\]\.\w+\.id: required$/, "nothing else names the table of a step"],
  [/results\[\]\.\w+\.transaction_id: missing$/, "a batch is one transaction"],
  [/\.data_type\.type: required$/, "a type without a name is none"],
  [/\.set(Status|Property)Action\.\w+: required$/, "an action that says nothing"],
  [/\.unsetPropertyAction\.key: required$/, "an action that says nothing"],
];

describe.skipIf(!existsSync(file))("joust's OpenAPI document", () => {
  const currentDifferences = () =>
    differences(parse(readFileSync(file, "utf8")), openApiDocument(contract));

  it("contains every operation, parameter, member and type of the public interface", () => {
    const unknown = currentDifferences().filter(
      (line) => !wanted.some(([pattern]) => pattern.test(line)),
    );
    expect(unknown).toEqual([]);
  });

  it("differs from the public interface only as the list of exceptions allows, and each exception is still needed", () => {
    const lines = currentDifferences();
    const stale = wanted.filter(([pattern]) => !lines.some((line) => pattern.test(line)));
    expect(stale).toEqual([]);
  });
});
