import {
  chmodSync,
  existsSync,
  mkdirSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { npm } from "../build/dependencies.mjs";

/** The tested versions of Node, in addition to the one that runs this script. */
const VERSIONS = { 22: "22.23.3", 24: "24.21.0", 26: "26.10.0" };

/** The major versions with a downloadable binary, newest last. */
export const majors = Object.keys(VERSIONS).map(Number);

/** The binary of a version of Node, from the npm package of this platform. Downloaded once. */
export function nodeBinary(major) {
  const version = VERSIONS[major];
  const name = `node-${process.platform}-${process.arch}`;
  const folder = join(homedir(), ".cache", "joust", "node", version);
  const binary = join(folder, "node_modules", name, "bin", "node");
  if (!existsSync(binary)) {
    console.error(`downloading Node ${version}`);
    mkdirSync(folder, { recursive: true });
    const quiet = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    npm(["install", `${name}@${version}`, "--prefix", folder, ...quiet], {
      cwd: folder,
      stdio: ["ignore", 2, 2],
    });
  }
  return binary;
}

/** Makes a folder for PATH that contains only this Node, npm, npx and a shell. */
export function makePath(folder, node) {
  mkdirSync(folder, { recursive: true });
  symlinkSync(node, join(folder, "node"));
  symlinkSync("/bin/sh", join(folder, "sh"));
  for (const [name, script] of Object.entries({ npm: "npm-cli.js", npx: "npx-cli.js" })) {
    const file = join(folder, name);
    writeFileSync(file, `#!/bin/sh\nexec node "${join(npmFolder(), script)}" "$@"\n`);
    chmodSync(file, 0o755);
  }
  return folder;
}

/** The folder of the scripts of npm: of the npm that runs this script, or of the npm on PATH. */
function npmFolder() {
  const onPath = (process.env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "npm"))
    .find((file) => existsSync(file));
  const script = process.env.npm_execpath ?? (onPath && realpathSync(onPath));
  if (script === undefined) throw new Error("npm was not found on PATH");
  return join(script, "..");
}
