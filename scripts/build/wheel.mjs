import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stageApplication } from "./application.mjs";
import { root } from "./paths.mjs";

/** The default limit of PyPI for a file. */
const PYPI_LIMIT = 100 * 1024 * 1024;

/**
 * Builds the wheel joust-server of this platform in `folder` from the addon in native/, and returns its path. pip
 * downloads two Python packages for the build.
 */
export function buildWheel(folder) {
  const source = mkdtempSync(join(tmpdir(), "joust-wheel-"));
  try {
    cpSync(join(root, "packaging", "python"), source, { recursive: true });
    copyFileSync(join(root, "LICENSE"), join(source, "LICENSE"));
    stageApplication(join(source, "src", "joust", "_app"));
    mkdirSync(folder, { recursive: true });
    const pip = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, source];
    execFileSync("python3", pip, { stdio: ["ignore", 2, 2] });
  } finally {
    rmSync(source, { recursive: true });
  }
  const name = readdirSync(folder).find((file) => /^joust_server-.*\.whl$/.test(file));
  return join(folder, name);
}

/** The size of the wheel, and whether PyPI accepts it. */
export function describeWheel(path) {
  const bytes = statSync(path).size;
  const size = `${(bytes / 2 ** 20).toFixed(1)} MiB`;
  if (bytes <= PYPI_LIMIT) return `${size}, within PyPI's limit of 100 MiB for a file`;
  return `${size}: PyPI accepts 100 MiB per file by default; compile the addon with the profile dist, which makes it smaller`;
}
