import { describe, expect, it } from "vitest";
import { layerFindings } from "../../scripts/layers/check.mjs";
import { TYPESCRIPT_IMPORTS } from "../../scripts/layers/rules.mjs";
import { rustImports } from "../../scripts/layers/rust-imports.mjs";
import { typescriptImports } from "../../scripts/layers/typescript-imports.mjs";
import { checkout } from "./checkout.js";

describe("the layer check", () => {
  it("reads the top modules that a Rust source names", () => {
    const source = `
use std::sync::Arc;
use crate::error::{Error, Result};
use crate::{
    memory::{self, Budget},
    names,
};
use super::super::query::Plan;
use super::sibling;
// use crate::comment;
fn f() -> crate::table::Table { todo() }
#[cfg(test)]
mod tests {
    use crate::engine::Engine;
}
`;
    const names = ["error", "memory", "names", "query", "table"];
    expect(rustImports(source, ["text", "search"])).toEqual(names);
  });

  it("counts the steps of super from the module of the file", () => {
    expect(rustImports("use super::super::query;", ["a", "b", "c"])).toEqual([]);
    expect(rustImports("use super::query;", ["a"])).toEqual(["query"]);
  });

  it("reads the folders that a TypeScript source imports", () => {
    const source = `
import { a } from "./own.js";
import type { B } from "../catalog/b.js";
import { failure } from "../foundation/errors.js";
import { native } from "../../native/index.js";
import pino from "pino";
export { c } from "../jobs/c.js";
const later = () => import("../api/openapi/docs.js");
`;
    const folders = ["api", "catalog", "foundation", "jobs", "native"];
    expect(typescriptImports(source, "src/http/router.ts")).toEqual(folders);
  });

  it("reports an upward import with the file, the target and the rule", () => {
    const { violations } = layerFindings(
      checkout({
        "crates/joust-core/src/table/mod.rs": "use crate::error::Error;",
        "crates/joust-core/src/table/open.rs": "use crate::query::Plan;",
        "crates/joust-core/src/table/open_tests.rs": "use crate::engine::Engine;",
        "src/catalog/names.ts": 'import { failure } from "../foundation/errors.js";',
        "src/catalog/tables.ts": 'import { handler } from "../operations/tables.js";',
        "src/surprise/a.ts": "",
      }),
    );
    expect(violations.map(({ entry }) => entry)).toEqual([
      "crates/joust-core/src/table/open.rs -> query",
      "src/catalog/tables.ts -> operations",
      "src/surprise/a.ts: no rule",
    ]);
    expect(violations[0]?.message).toBe(
      'crates/joust-core/src/table/open.rs must not import query: `table` is in the layer "tables", below "query" of `query`',
    );
  });

  it("reports the modules that import each other, directly or through others", () => {
    const { cycles } = layerFindings(
      checkout({
        "crates/joust-core/src/table/mod.rs": "use crate::commit::run;",
        "crates/joust-core/src/commit/mod.rs": "use crate::ipc::read;",
        "crates/joust-core/src/ipc/mod.rs": "use crate::table::Table;",
        "crates/joust-core/src/cache.rs": "use crate::table::Table;",
        "src/catalog/a.ts": 'import { a } from "../cluster/a.js";',
        "src/cluster/a.ts": 'import { a } from "../catalog/a.js";',
      }),
    );
    expect(cycles.map(({ entry }) => entry)).toEqual([
      "cycle: commit",
      "cycle: ipc",
      "cycle: table",
      "cycle: catalog",
      "cycle: cluster",
    ]);
    expect(cycles[0]?.message).toBe("`commit` is in an import cycle with ipc, table");
  });

  it("allows a folder of src/ to import only folders above it in the list", () => {
    const names = Object.keys(TYPESCRIPT_IMPORTS);
    for (const [at, allowed] of Object.values(TYPESCRIPT_IMPORTS).entries()) {
      expect(allowed.filter((other) => names.indexOf(other) >= at)).toEqual([]);
    }
  });
});
