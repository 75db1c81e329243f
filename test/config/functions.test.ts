import { join } from "node:path";
import { expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.js";
import { tempDir } from "../harness/temp.js";

const cwd = tempDir("config");
const load = (...args: string[]) => loadConfig(args, { env: {}, cwd }).functions;

it("functions are off by default", () => {
  expect(load()).toBeUndefined();
  expect(load("--python", "/usr/bin/python3")).toBeUndefined();
});

it("functions have limits by default", () => {
  expect(load("--functions", "subprocess")).toEqual({
    python: "python3",
    workers: 2,
    memoryBytes: 2 * 2 ** 30,
    callTimeoutMs: 60_000,
    cpuTimeMs: 300_000,
    network: false,
    environment: {},
  });
});

it("functions have the options of the operator", () => {
  const limits = [
    "--function-memory",
    "8GiB",
    "--function-workers",
    "4",
    "--function-timeout",
    "5m",
  ];
  const others = ["--function-network", "on", "--function-env", "A=1", "--function-env", "B=x=y"];
  const options = [...limits, ...others, "--function-cpu-time", "1h"];
  expect(load("--functions", "subprocess", "--python", "venv/bin/python", ...options)).toEqual({
    python: join(cwd, "venv/bin/python"),
    workers: 4,
    memoryBytes: 8 * 2 ** 30,
    callTimeoutMs: 300_000,
    cpuTimeMs: 3_600_000,
    network: true,
    environment: { A: "1", B: "x=y" },
  });
});

it.each([
  ["--function-memory", "1MiB", "--function-memory must be at least 128MiB"],
  ["--function-timeout", "10ms", "--function-timeout must be at least 1s"],
  ["--function-cpu-time", "10ms", "--function-cpu-time must be at least 1s"],
  ["--function-workers", "0", "--function-workers must be an integer from 1 to 1024"],
])("functions refuse %s %s", (flag, value, message) => {
  expect(() => load("--functions", "subprocess", flag, value)).toThrow(message);
});

it("functions are refused on Windows", () => {
  const args = ["--functions", "subprocess", "--durability", "os"];
  const onWindows = () => loadConfig(args, { env: {}, cwd, platform: "win32" });
  expect(onWindows).toThrow("--functions must be off on Windows");
});
