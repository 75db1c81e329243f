import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.js";
import { tempDir } from "../harness/temp.js";

const cwd = tempDir("config");
const load = (...args: string[]) => loadConfig(args, { env: {}, cwd });
const cluster = [
  ...["--executor", "ray"],
  ...["--ray-address", "http://head:8265/", "--ray-server-url", "https://joust:2333"],
];
const needed = [...cluster, "--functions", "ray"];

it("all jobs run in the server by default", () => {
  expect(load().ray).toBeUndefined();
  expect(load("--functions", "subprocess").ray).toBeUndefined();
});

it("Ray has the limits of functions by default, and the server runs none itself", () => {
  const { ray, functions } = load(...needed);
  expect(functions).toBeUndefined();
  expect(ray).toEqual({
    address: "http://head:8265",
    serverUrl: "https://joust:2333",
    runsFunctions: true,
    minBytes: 2 ** 30,
    cpus: 1,
    gpus: 0,
    limits: {
      memoryBytes: 2 * 2 ** 30,
      callTimeoutMs: 60_000,
      cpuTimeMs: 300_000,
      network: false,
      environment: {},
    },
  });
});

it.each(["off", "subprocess"])("Ray runs other jobs with --functions %s", (where) => {
  const { ray, functions } = load(...cluster, "--functions", where, "--ray-min-bytes", "5MiB");
  expect(ray).toMatchObject({ runsFunctions: false, minBytes: 5 * 2 ** 20 });
  expect(functions !== undefined).toBe(where === "subprocess");
});

it("Ray has the options of the operator", () => {
  writeFileSync(join(cwd, "token"), "secret\n");
  writeFileSync(join(cwd, "ca.pem"), "certificate");
  const files = ["--ray-token-file", "token", "--ray-ca-file", "ca.pem"];
  const resources = ["--ray-cpus", "4", "--ray-gpus", "0.5"];
  const store = ["--ray-storage-option", "a=b", "--ray-storage-option", "c=d"];
  const { ray } = load(...needed, ...files, ...resources, ...store, "--function-timeout", "5s");
  expect(ray).toMatchObject({
    tokenFile: join(cwd, "token"),
    ca: "certificate",
    cpus: 4,
    gpus: 0.5,
    storageOptions: { a: "b", c: "d" },
    limits: { callTimeoutMs: 5_000 },
  });
});

it("the workers have a role of their own", () => {
  const roles = [
    "--vend-role",
    "arn:aws:iam::1:role/r",
    "--ray-vend-role",
    "arn:aws:iam::1:role/w",
  ];
  const { vending, ray } = load("s3://bucket/root", ...needed, ...roles, "--vend-lifetime", "2h");
  expect(vending).toEqual({ role: "arn:aws:iam::1:role/r", lifetimeMs: 7_200_000 });
  expect(ray?.vending).toEqual({ role: "arn:aws:iam::1:role/w", lifetimeMs: 7_200_000 });
});

it.each(["%20", "*", `\${x}`])(
  "temporary credentials need a root that a policy can name: s3://bucket/root%s",
  (end) => {
    const role = ["--ray-vend-role", "arn:aws:iam::1:role/w"];
    expect(() => load(`s3://bucket/root${end}`, ...needed, ...role)).toThrow(
      /--ray-vend-role needs a root without `%`/,
    );
    expect(load(`s3://bucket/root${end}`, ...needed).ray?.vending).toBeUndefined();
  },
);

it.each([
  [["--functions", "ray"], /--functions ray needs --executor ray/],
  [["--executor", "ray"], /--executor ray needs --ray-address/],
  [["--executor", "ray", "--functions", "ray"], /--executor ray needs --ray-address/],
  [["--ray-address", "http://head:8265"], /--ray-address needs --executor ray/],
  [[...needed, "--ray-token-file", "none"], /none of --ray-token-file cannot be read/],
  [[...needed, "--ray-ca-file", "none"], /none of --ray-ca-file cannot be read/],
  [["--ray-vend-role", "arn:aws:iam::1:role/w"], /--ray-vend-role needs --executor ray/],
  [
    [...needed, "--ray-vend-role", "arn:aws:iam::1:role/w"],
    /--ray-vend-role needs a root in a bucket/,
  ],
  [
    [...needed, "--vend-endpoint", "https://sts.example"],
    /--vend-endpoint needs --vend-role or --ray-vend-role/,
  ],
  [["--ray-address", "ray://head:10001"], /--ray-address must be an http/],
  [[...needed, "--ray-gpus", "1.5"], /--ray-gpus must be a part of 1, or an integer/],
  [[...needed, "--function-memory", "1MiB"], /--function-memory must be at least 128MiB/],
])("%j is refused", (args, message) => {
  expect(() => load(...args)).toThrow(message);
});
