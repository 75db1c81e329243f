import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const execute = promisify(execFile);
const CACHE = join(homedir(), ".cache", "joust");
const bin = process.platform === "win32" ? "Scripts" : "bin";

/** Environments of other tasks, which may contain the packages already. */
const sharedEnvironments = () =>
  [process.env.JOUST_VENV, join(CACHE, "venv")].filter((path) => path !== undefined);

/**
 * A Python interpreter that can import `module`, from the client tests or from a separate environment.
 *
 * @param {{ name: string, packages: readonly string[], module: string, install: boolean }} wanted
 * @returns {Promise<{ interpreter: string, reason?: undefined } | { reason: string }>}
 */
export async function python({ name, packages, module, install }) {
  const separate = join(CACHE, "bench", name);
  for (const environment of [...sharedEnvironments(), separate]) {
    const interpreter = join(environment, bin, "python");
    if (existsSync(interpreter) && (await canImport(interpreter, module))) return { interpreter };
  }
  if (!install) return { reason: `Python has no ${packages.join(", ")}` };
  try {
    await execute("python3", ["-m", "venv", separate]);
    const interpreter = join(separate, bin, "python");
    await execute(interpreter, ["-m", "pip", "install", "--quiet", ...packages]);
    return { interpreter };
  } catch (error) {
    const last = error instanceof Error ? error.message.trim().split("\n").at(-1) : error;
    return { reason: `${packages.join(", ")} were not installed: ${last}` };
  }
}

async function canImport(interpreter, module) {
  try {
    await execute(interpreter, ["-c", `import ${module}`]);
    return true;
  } catch {
    return false;
  }
}
