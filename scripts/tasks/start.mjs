import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "../build/paths.mjs";

/** `npm start -- ARGS` is `joust serve ARGS`, in this process, so that signals reach the server. */
export async function run(args) {
  const main = join(root, "dist", "cli", "main.js");
  process.argv = [process.execPath, main, "serve", ...args];
  await import(pathToFileURL(main).href);
}
