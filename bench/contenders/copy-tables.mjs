/** @import { Workspace } from "../types.js" */
import { cpSync } from "node:fs";
import { join } from "node:path";

/**
 * Copies the tables of another contender, so that all readers of Lance files search the same index.
 *
 * @param {Workspace} place
 * @param {string} from
 */
export async function copyTables({ folder, others, tables }, from) {
  const source = others.get(from);
  if (source === undefined) throw new Error(`it needs the tables of ${from}, which is unavailable`);
  for (const table of tables) {
    cpSync(join(source, `${table}.lance`), join(folder, `${table}.lance`), { recursive: true });
  }
}
