import { accessSync, constants } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { command } from "./command.mjs";

/** The folders of `go install` and `cargo install`, which PATH may lack. */
const FOLDERS = [join(homedir(), "go", "bin"), join(homedir(), ".cargo", "bin")];

/** The path of a program; undefined if it is not installed. */
export function findProgram(name, path = process.env.PATH ?? "") {
  return [...path.split(delimiter), ...FOLDERS]
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, name))
    .find(isProgram);
}

function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Runs an optional check, or prints how to install its program. */
export async function whenInstalled(name, args, install) {
  const program = findProgram(name);
  if (program !== undefined) return command(program, args);
  console.log(`skipped: ${name} is not installed (${install})`);
  return 0;
}
