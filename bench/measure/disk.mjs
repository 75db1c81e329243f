import { spawnSync } from "node:child_process";
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** The size of all files below a folder. @param {string} folder */
export function folderBytes(folder) {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const stats = names.map((name) => lstatSync(join(folder, name), { throwIfNoEntry: false }));
  return stats.reduce((sum, stat) => sum + (stat?.isFile() ? stat.size : 0), 0);
}

/**
 * Writes all dirty pages to the disk, if the system has the program `sync`. Otherwise the next contender would
 * wait for the writes of the previous one: on ext4 the fsync of a file may wait for other files.
 */
export function syncDisk() {
  spawnSync("sync");
}
