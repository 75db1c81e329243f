import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "../build/paths.mjs";

/** Runs the built `joust ARGS` in this process, so that it receives the signals. */
export async function joust(args) {
  const main = join(root, "dist", "cli", "main.js");
  process.argv = [process.execPath, main, ...args];
  await import(pathToFileURL(main).href);
}
