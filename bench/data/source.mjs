/** @import { Source } from "../types.js" */
import { existsSync } from "node:fs";
import { extname } from "node:path";
import { arrowFile } from "./arrow-file.mjs";
import { generated } from "./generated.mjs";
import { hdf5File } from "./hdf5-file.mjs";

/**
 * The source of rows for the options of a run.
 *
 * @param {{ data?: string | undefined, rows?: number | undefined, dimensions: number, seed: number }} options
 * @returns {Promise<Source>}
 */
export async function openSource({ data, rows, dimensions, seed }) {
  if (data === undefined) return generated({ rows: rows ?? 100_000, dimensions, seed });
  if (!existsSync(data)) throw new Error(`the file ${data} does not exist`);
  const hdf5 = [".hdf5", ".h5"].includes(extname(data));
  return hdf5 ? hdf5File(data, { rows, seed }) : arrowFile(data, { rows });
}
