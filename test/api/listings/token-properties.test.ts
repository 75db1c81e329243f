import fc from "fast-check";
import { describe, it } from "vitest";
import { tokenProperties } from "../../../scripts/fuzz/token-properties.mjs";
import * as paging from "../../../src/api/paging.js";
import * as tokens from "../../../src/catalog/page-token.js";
import * as cursors from "../../../src/operations/rows/change-cursor.js";

// `npm run test:fuzz` checks the same properties for longer.
const seed = Number(process.env.TEST_SEED ?? Date.now() % 1_000_000);
const properties = Object.entries(tokenProperties({ ...tokens, ...paging, ...cursors }));

describe(`tokens of clients (TEST_SEED=${seed})`, () => {
  it.each(properties)("%s", (_, property) => {
    fc.assert(property as fc.IProperty<unknown>, { seed, numRuns: 300 });
  });
});
