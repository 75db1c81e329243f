import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { withoutIntegrity } from "../../scripts/tasks/lock-file.mjs";

test("the lock file check names each package without a sha512 hash", () => {
  const packages = {
    "": { name: "joust", version: "0.1.0" },
    "node_modules/hashed": { version: "1.0.0", integrity: "sha512-AAAA" },
    "node_modules/bare": { version: "2.0.0" },
    "node_modules/bare/node_modules/weak": { version: "3.0.0", integrity: "sha1-AAAA" },
    "node_modules/linked": { resolved: "bench", link: true },
  };
  expect(withoutIntegrity({ packages })).toEqual([
    "node_modules/bare@2.0.0",
    "node_modules/bare/node_modules/weak@3.0.0",
  ]);
});

test("package-lock.json has a hash for each package, including the native builds", () => {
  const file = join(import.meta.dirname, "..", "..", "package-lock.json");
  const lock = JSON.parse(readFileSync(file, "utf8"));
  expect(Object.keys(lock.packages)).toContain("node_modules/uws-20-57");
  expect(withoutIntegrity(lock)).toEqual([]);
});
