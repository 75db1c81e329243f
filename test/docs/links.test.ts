import { describe, expect, it } from "vitest";
import { brokenReferences, markdownFiles, references } from "./references.js";

describe("the references of the documents", () => {
  it.each(markdownFiles())("of %s lead to files of the repository", (file) => {
    expect(brokenReferences(file)).toEqual([]);
  });

  it("are links and paths in backticks, with their lines", () => {
    const text = [
      "[a](docs/a.md#part) and [b](https://example.org/b.md), `src/c.ts` and `npm run lint`",
      "```sh",
      "cat src/not-checked.ts # [nor](this.md)",
      "```",
      "`docs/{d,e}.md` and `test/<version>.tar.gz`",
    ].join("\n");
    expect(references(text)).toEqual([
      { line: 1, text: "docs/a.md#part", kind: "link" },
      { line: 1, text: "src/c.ts", kind: "path" },
      { line: 5, text: "docs/{d,e}.md", kind: "path" },
    ]);
  });

  it("include source files below the folder that the document names", () => {
    const text = "Paths are relative to\n`src/` here: `jobs/store.ts`, `store.ts`, `docs/sql.md`";
    expect(references(text).map(({ text }) => text)).toEqual([
      "src/",
      "src/jobs/store.ts",
      "docs/sql.md",
    ]);
  });

  it("are reported where a file, a heading or one of several paths is missing", () => {
    const text = [
      "[a file](none.md), [a heading](../README.md#none), [neither](../README.md#joust)",
      "`src/none.ts`, `docs/{sql,none}.md`, `test/none/*.ts`, `docs/*.md`, `bench/results/x.json`",
    ].join("\n");
    expect(brokenReferences("docs/any.md", text)).toEqual([
      "docs/any.md:1: the link none.md does not exist",
      "docs/any.md:1: the link ../README.md#none does not exist",
      "docs/any.md:2: the path src/none.ts does not exist",
      "docs/any.md:2: the path docs/{sql,none}.md does not exist",
      "docs/any.md:2: the path test/none/*.ts does not exist",
    ]);
  });
});
