import { join } from "node:path";
import { root } from "../build/paths.mjs";
import { clientsPython, FOLDER } from "./clients/python.mjs";
import { command } from "./command.mjs";

/**
 * `npm run test:tpch -- [SCALE]`: runs the 22 queries of TPC-H at a scale factor, 1 by default, and compares the answers
 * with those of DuckDB: test/clients/python/tpch.
 */
export function run([scale = "1"]) {
  if (!(Number(scale) > 0)) throw new Error(`"${scale}" is no scale factor: use a number above 0`);
  const python = clientsPython();
  if (python === undefined) throw new Error("it needs python3 with the venv module");
  const env = { PYTHONPATH: join(root, FOLDER), PYTHONDONTWRITEBYTECODE: "1" };
  return command(python, ["-m", "tpch", scale], { env });
}
