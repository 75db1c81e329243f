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
 * Records that a checkout compiles into a shared target directory. If the last build was that of another checkout,
 * it updates the modification time of all sources.
 *
 * Cargo identifies the crates of a workspace by their relative paths and considers a crate fresh if its build is
 * newer than its sources. Without this, a checkout with older files would get the addon of the other checkout.
 *
 * @param {string} target
 * @param {string} checkout
 */
export function claimTarget(target, checkout) {
  const owner = join(target, "joust-checkout");
  if (existsSync(owner) && readFileSync(owner, "utf8") === checkout) return;
  const now = new Date();
  const sources = join(checkout, SOURCES);
  for (const name of readdirSync(sources, { recursive: true, encoding: "utf8" })) {
    if (name.endsWith(".rs")) utimesSync(join(sources, name), now, now);
  }
  mkdirSync(target, { recursive: true });
  writeFileSync(owner, checkout);
}
