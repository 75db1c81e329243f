import { join } from "node:path";
import { expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.js";
import { tempDir } from "../harness/temp.js";

const cwd = tempDir("config");
const load = (...args: string[]) => loadConfig(args, { env: {}, cwd }).auditLog;

it("the audit log is off by default", () => {
  expect(load()).toBeUndefined();
});

it("the audit log has a size and a number of files", () => {
  const path = join(cwd, "audit.log");
  const defaults = { path, maxBytes: 100 * 2 ** 20, maxFiles: 10, table: false };
  expect(load("--audit-log", "audit.log")).toEqual(defaults);
  const limited = ["--audit-log-size", "1MiB", "--audit-log-files", "3"];
  const files = { maxBytes: 2 ** 20, maxFiles: 3 };
  expect(load("--audit-log", path, ...limited)).toEqual({ ...defaults, ...files });
});

it("the audit table needs the audit log", () => {
  const table = ["--audit-log-table", "on"];
  expect(load("--audit-log", "audit.log", ...table)).toMatchObject({ table: true });
  expect(() => load(...table)).toThrow("--audit-log-table needs --audit-log");
});

it.each([
  ["--audit-log-size", "1KiB", "--audit-log-size must be at least 64KiB"],
  ["--audit-log-files", "0", "--audit-log-files must be an integer from 1 to 1000"],
])("the audit log refuses %s %s", (flag, value, message) => {
  expect(() => load("--audit-log", "audit.log", flag, value)).toThrow(message);
});
