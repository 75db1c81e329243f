/** @import { Place } from "../types.js" */
import { cpSync } from "node:fs";
import { join } from "node:path";

/**
 * Copies the tables of another contender: all that read Lance files search the same index.
 *
 * @param {Place} place
 * @param {string} from
 */
export async function copyTables({ folder, others, tables }, from) {
  const theirs = others.get(from);
  if (theirs === undefined) throw new Error(`it searches the tables of ${from}, which is absent`);
  for (const table of tables) {
    cpSync(join(theirs, `${table}.lance`), join(folder, `${table}.lance`), { recursive: true });
  }
}
