import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { reportFindings, shortenList } from "../../scripts/tasks/known-findings.mjs";
import { tidyFindings } from "../../scripts/tidy/check.mjs";
import { checkout } from "./checkout.js";

const home = ["", "home", "somebody", "joust"].join("/");

describe("the style check", () => {
  it("reports a source file with more than 400 lines", () => {
    expect(
      entries({
        "src/long.ts": "\n".repeat(401),
        "src/short.ts": "\n".repeat(400),
        "scripts/long.mjs": "\n".repeat(401),
        "bench/long.mjs": "\n".repeat(401),
      }),
    ).toEqual(["src/long.ts: too long", "scripts/long.mjs: too long"]);
  });

  it("reports a word of the list in comments, identifiers and file names of src/", () => {
    const text = "// Whoever writes.\nunsealToken(NOBODY); const unaccomplished = foretold;";
    expect(entries({ "src/a.ts": text, "test/a.ts": text, "src/upkeep.ts": "" })).toEqual([
      "src/a.ts: nobody",
      "src/a.ts: unseal",
      "src/a.ts: whoever",
      "src/upkeep.ts: upkeep",
    ]);
  });

  it("reports a path of a home directory, and no path that only contains its name", () => {
    expect(
      entries({
        "README.md": `Files are in ${home}.`,
        "test/a.test.ts": 'open("file:///data/root/a.lance", "s3://b/root/a.lance", "~/.cache")',
      }),
    ).toEqual(["README.md: home directory"]);
  });

  it("prints what the list does not contain, and the lines that the list no longer needs", () => {
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => error.mockRestore());
    const list = join(checkout({ known: "a: known\nb: obsolete\n" }), "known");
    const findings = ["a: known", "c: new"].map((entry) => ({ entry, message: `${entry}!` }));
    expect(reportFindings(findings, list, "shorten")).toBe(2);
    expect(error.mock.calls).toEqual([
      ["c: new!"],
      ['b: obsolete: no longer a finding; run "shorten"'],
    ]);
    shortenList(findings, list);
    expect(readFileSync(list, "utf8")).toBe("a: known\n");
  });
});

function entries(files: Record<string, string>): string[] {
  return tidyFindings(checkout(files), Object.keys(files)).map(({ entry }) => entry);
}
