import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../scripts/build/paths.mjs";
import { serverOptions } from "../../src/config/options.js";

/** The options that the checklist leaves out, by the reason. */
const left: Readonly<Record<string, readonly string[]>> = {
  "where joust runs, and what it says": ["root", "log-level", "prewarm"],
  "the names of claims and the clock of a provider": [
    "oidc-jwks",
    "oidc-groups-claim",
    "oidc-name-claim",
    "oidc-clock-skew",
  ],
  "which namespace a name selects, with the same grants": ["lancedb-databases"],
  "the default is safe": [
    "max-json-bytes",
    "view-timeout",
    "view-disk",
    "function-workers",
    "function-memory",
    "function-timeout",
    "function-cpu-time",
    "drain-timeout",
  ],
  "speed, freshness and durability": [
    "durability",
    "maintenance",
    "keep-versions",
    "auto-refresh-interval",
    "index-cache",
    "metadata-cache",
    "row-cache",
    "staleness",
    "cpu-threads",
    "http-threads",
    "ray-min-bytes",
  ],
  "the program and the store that the operator chooses": ["python", "vend-endpoint"],
};

const read = (file: string): string => readFileSync(join(root, file), "utf8");

describe("the checklist in docs/security.md", () => {
  const [, after = ""] = read("docs/security.md").split("\n## Checklist\n");
  const [checklist = ""] = after.split("\n## ");
  const named = new Set([...checklist.matchAll(/`--([a-z-]+)/g)].map(([, name]) => name));

  it("names every option of the server but those with a reason", () => {
    const missing = Object.keys(serverOptions).filter((name) => !named.has(name));
    expect(missing.sort()).toEqual(Object.values(left).flat().sort());
  });
});

it("the page of a release links to the changelog by its whole address", () => {
  const [, notes = ""] = /--notes "(.*)"/.exec(read(".github/workflows/release.yml")) ?? [];
  expect(notes).toContain("$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/blob/$TAG/CHANGELOG.md)");
  expect(notes).not.toContain("](../");
});

describe("SECURITY.md", () => {
  it("says how to report in private, and which versions get fixes", () => {
    const text = read("SECURITY.md");
    expect(text).toMatch(/^## Report a vulnerability\n[^#]*private\s+vulnerability reporting/m);
    expect(text).toMatch(/^## Supported versions\n[^#]*the newest release/m);
    expect(existsSync(join(root, ".github", "SECURITY.md"))).toBe(false);
  });

  it("verifies each file of a release by itself, because `gh attestation verify` takes one file", () => {
    const [, block = ""] =
      /^## Verify a release\n+```sh\n(.*?)^```/ms.exec(read("SECURITY.md")) ?? [];
    expect(block).toMatch(/^for file in joust-\*\.tgz joust_server-\*\.whl; do/m);
    const verified = [...block.matchAll(/gh attestation verify (\S+)/g)].map(([, file]) => file);
    expect(verified).toEqual(['"$file"']);
  });
});
