import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { native } from "../../../src/engine/native.js";
import { WorkerPackage } from "../../../src/jobs/ray/worker-package.js";

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");

it("the package for Ray has the versions of the server", () => {
  const { engine, lance } = native.versions();
  const source = read("src/jobs/ray/joust_worker/__init__.py");
  expect(source).toContain(`__version__ = "${engine}"`);
  expect(source).toContain(`LANCE_VERSION = "${lance}"`);
  const requirements = read("test/clients/ray/requirements.txt");
  expect(requirements).toContain(`pylance==${lance}`);
  const datafusion = /name = "datafusion"\nversion = "(\d+\.\d+)\./.exec(read("Cargo.lock"))?.[1];
  expect(requirements).toContain(`datafusion==${datafusion}.*`);
});

it("the archive of the package is the same for the same files", () => {
  const { name, archive } = new WorkerPackage();
  expect(name).toMatch(/^_ray_pkg_[0-9a-f]{16}\.zip$/);
  expect(new WorkerPackage().archive.equals(archive)).toBe(true);
  const files = [
    "__init__",
    "__main__",
    "driver",
    "kinds",
    "tasks",
    "backfill",
    "server",
    "view",
    "sql",
  ];
  for (const file of files) {
    expect(archive.includes(`joust_worker/${file}.py`)).toBe(true);
  }
});
