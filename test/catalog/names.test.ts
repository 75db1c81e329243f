import { describe, expect, it } from "vitest";
import { checkName } from "../../src/catalog/names.js";
import { decodePath, descendants, encodePath } from "../../src/catalog/path.js";
import { newLocation } from "../../src/catalog/tables/location.js";

const allowed = (name: string, where = { delimiter: "$", root: true }) =>
  expect(() => checkName("table", name, where), JSON.stringify(name)).not.toThrow();
const refused = (name: string, rule: RegExp, where = { delimiter: "$", root: true }) => {
  const check = () => checkName("table", name, where);
  expect(check, JSON.stringify(name)).toThrow(rule);
  expect(check).toThrow(expect.objectContaining({ code: 13 }));
};

describe("names", () => {
  it("may contain almost any character", () => {
    for (const name of [
      "a",
      "-",
      "a.b",
      "...",
      ".a",
      "a b",
      "%2F",
      "名前",
      "🦀",
      "x".repeat(128),
    ]) {
      allowed(name);
    }
    allowed("a$b", { delimiter: ".", root: true });
    allowed("_joust", { delimiter: "$", root: false });
  });

  it("must not contain characters that lead to another path", () => {
    refused("", /must not be empty/);
    for (const name of [".", ".."]) refused(name, /are not names/);
    for (const name of ["a/b", "..\\a", "a\u0000", "a\nb", "\u007f", "\u009f", "a\u001fb"]) {
      refused(name, /control characters/);
    }
    refused("a\ud800", /well-formed/);
    refused("x".repeat(129), /at most 128 characters/);
    refused("🦀".repeat(64), /255 bytes/);
    refused("a$b", /must not contain the delimiter "\$"/);
    for (const name of ["_joust", "_joust_x", "__manifest"]) refused(name, /reserved/);
  });
});

describe("stored paths", () => {
  it("are unambiguous, and all descendants form one key range", () => {
    for (const path of [[], ["a"], ["a", "b"], ["a$b", "c"]]) {
      expect(decodePath(encodePath(path))).toEqual(path);
    }
    const { from, to } = descendants(encodePath(["a"]));
    const within = (path: string[]) => encodePath(path) >= from && encodePath(path) < to;
    expect(
      [
        ["a", "b"],
        ["a", "\u{10ffff}"],
        ["a", "b", "c"],
      ].every(within),
    ).toBe(true);
    expect([["a"], ["a "], ["a!", "b"], ["ab", "c"], ["b"]].some(within)).toBe(false);
  });
});

describe("table locations", () => {
  it("of root tables have the names that Lance tools expect", () => {
    expect(newLocation("/data", ["my-table_1.v2"])).toBe("/data/my-table_1.v2.lance");
    expect(newLocation("s3://bucket/p/", ["t"])).toBe("s3://bucket/p/t.lance");
    expect(newLocation("/data", ["t"], true)).toMatch(/^\/data\/t-[0-9a-f]{8}\.lance$/);
  });

  it("are short and contain only plain characters for any name", () => {
    const odd = ["a b%2F..", "é".repeat(100), "🦀".repeat(60), "x".repeat(128)];
    for (const id of [...odd.map((name) => [name]), odd]) {
      const file = newLocation("/data", id).slice("/data/".length);
      expect(file).toMatch(/^[A-Za-z0-9._$-]{1,200}$/);
    }
    expect(newLocation("/data", ["a b"])).not.toBe(newLocation("/data", ["a b"]));
    expect(newLocation("/data", ["n", "t"])).toMatch(/^\/data\/[0-9a-f]{8}_n\$t$/);
  });
});
