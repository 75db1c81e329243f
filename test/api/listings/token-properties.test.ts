import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tokenCorpus, tokenProperties } from "../../../scripts/fuzz/token-properties.mjs";
import * as paging from "../../../src/api/paging.js";
import * as tokens from "../../../src/catalog/page-token.js";
import * as cursors from "../../../src/operations/rows/change-cursor.js";

// `npm run test:fuzz` checks the same properties for longer.
const seed = Number(process.env.TEST_SEED ?? Date.now() % 1_000_000);
const properties = Object.entries(tokenProperties({ ...tokens, ...paging, ...cursors }));

describe(`tokens of clients (TEST_SEED=${seed})`, () => {
  it.each(properties)("%s", (name, property) => {
    const examples = tokenCorpus[name] ?? [];
    expect(examples.length).toBeGreaterThan(0);
    const numRuns = 300 + examples.length;
    fc.assert(property as fc.IProperty<unknown>, { seed, numRuns, examples });
  });

  it("have a corpus for these properties only", () => {
    expect(Object.keys(tokenCorpus)).toEqual(properties.map(([name]) => name));
  });
});
