import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { root } from "./paths.mjs";

/** The Python package that the server sends to Ray. */
const PACKAGE = join("jobs", "ray", "joust_worker");

/** Writes the package to `dist`, without what Python has compiled. */
export function copyWorkerPackage(dist) {
  const to = join(dist, PACKAGE);
  rmSync(to, { recursive: true, force: true });
  cpSync(join(root, "src", PACKAGE), to, {
    recursive: true,
    filter: (path) => !path.endsWith("__pycache__"),
  });
}
