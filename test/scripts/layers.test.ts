import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { TYPESCRIPT_IMPORTS } from "../../scripts/layers/rules.mjs";
import { rustImports } from "../../scripts/layers/rust-imports.mjs";
import { typescriptImports } from "../../scripts/layers/typescript-imports.mjs";
import { violations } from "../../scripts/layers/violations.mjs";
import { removeDir, tempDir } from "../harness/temp.js";

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
    expect([...rustImports(source, ["text", "search"])].sort()).toEqual(
      ["error", "memory", "names", "query", "table"].sort(),
    );
  });

  it("counts the steps of super from the module of the file", () => {
    expect([...rustImports("use super::super::query;", ["a", "b", "c"])]).toEqual([]);
    expect([...rustImports("use super::query;", ["a"])]).toEqual(["query"]);
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
    expect([...typescriptImports(source, "src/http/router.ts")].sort()).toEqual(
      ["catalog", "foundation", "native", "jobs", "api"].sort(),
    );
  });

  it("reports an upward import with the file, the target and the rule", () => {
    const root = tempDir("layers");
    onTestFinished(() => removeDir(root));
    const write = (file: string, text: string) => {
      mkdirSync(dirname(join(root, file)), { recursive: true });
      writeFileSync(join(root, file), text);
    };
    write("crates/joust-core/src/table/mod.rs", "use crate::error::Error;");
    write("crates/joust-core/src/table/open.rs", "use crate::query::Plan;");
    write("crates/joust-core/src/table/open_tests.rs", "use crate::engine::Engine;");
    write("src/catalog/names.ts", 'import { failure } from "../foundation/errors.js";');
    write("src/catalog/tables.ts", 'import { handler } from "../operations/tables.js";');
    write("src/surprise/a.ts", "");
    const seen = violations(root).map(({ file, target }) => [file, target]);
    expect(seen).toEqual([
      ["crates/joust-core/src/table/open.rs", "query"],
      ["src/catalog/tables.ts", "operations"],
      ["src/surprise/a.ts", "surprise"],
    ]);
    expect(violations(root)[0]?.rule).toBe(
      '`table` is in the layer "tables", below "query" of `query`',
    );
  });

  it("allows a folder of src/ to import only folders above it in the list", () => {
    const names = [...TYPESCRIPT_IMPORTS.keys()];
    for (const [at, name] of names.entries()) {
      const allowed = TYPESCRIPT_IMPORTS.get(name) ?? [];
      expect(allowed.filter((other) => names.indexOf(other) >= at)).toEqual([]);
    }
  });
});
