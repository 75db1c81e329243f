import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** All files of a folder and of those in it. @param {string} folder */
export function folderBytes(folder) {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const stats = names.map((name) => lstatSync(join(folder, name), { throwIfNoEntry: false }));
  return stats.reduce((sum, stat) => sum + (stat?.isFile() ? stat.size : 0), 0);
}
