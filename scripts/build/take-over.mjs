import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

const SOURCES = "crates";

/**
 * Notes that a checkout compiles into a target directory. After another one all its sources count as new.
 *
 * Cargo knows the crates of a workspace by their place in it, wherever it lies, and takes what was compiled
 * since a source was written for what that source makes: without this a checkout whose files are older than
 * the last build of another is given that one's addon.
 *
 * @param {string} target
 * @param {string} checkout
 */
export function takeOver(target, checkout) {
  const note = join(target, "joust-checkout");
  if (existsSync(note) && readFileSync(note, "utf8") === checkout) return;
  const now = new Date();
  const sources = join(checkout, SOURCES);
  for (const name of readdirSync(sources, { recursive: true, encoding: "utf8" })) {
    if (name.endsWith(".rs")) utimesSync(join(sources, name), now, now);
  }
  mkdirSync(target, { recursive: true });
  writeFileSync(note, checkout);
}
