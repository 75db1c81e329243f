import { spawnSync } from "node:child_process";
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** All files of a folder and of those in it. @param {string} folder */
export function folderBytes(folder) {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const stats = names.map((name) => lstatSync(join(folder, name), { throwIfNoEntry: false }));
  return stats.reduce((sum, stat) => sum + (stat?.isFile() ? stat.size : 0), 0);
}

/**
 * Waits until the disk has all that was written so far, where the system has a program for it. Otherwise
 * who is measured next would write what another one left to the system: on ext4 the sync of one file may
 * wait for those of others.
 */
export function settleDisk() {
  spawnSync("sync");
}
