import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { FunctionSettings } from "../config/functions.js";
import type { Logger } from "../telemetry/logger.js";

/** How long the import may take, ms: a cold file system is slow. */
const TIMEOUT = 60_000;

const PROGRAM = `
import json, platform, pyarrow, sys
print(json.dumps([sys.executable, platform.python_version(), pyarrow.__version__]))
`;

/**
 * The settings with the absolute path of the interpreter: its processes have another PATH than this one.
 * @throws Error with one sentence if the interpreter cannot run functions
 */
export async function checkPython(
  settings: FunctionSettings,
  log: Logger,
): Promise<FunctionSettings> {
  const { python } = settings;
  const options = { timeout: TIMEOUT, env: { PATH: process.env.PATH, ...settings.environment } };
  try {
    const { stdout } = await promisify(execFile)(python, ["-I", "-c", PROGRAM], options);
    const [executable, version, pyarrow] = JSON.parse(stdout) as [string, string, string];
    log.info({ python: executable, version, pyarrow }, "the server runs Python functions");
    return { ...settings, python: executable };
  } catch (error) {
    throw new Error(`--functions subprocess: ${reason(python, error)}`, { cause: error });
  }
}

function reason(python: string, error: unknown): string {
  const { code, stderr = "" } = error as { code?: unknown; stderr?: string };
  if (code === "ENOENT" || code === "EACCES") {
    return `${python} is no program that can be started: install Python 3, or name its path with --python`;
  }
  const missing = /No module named '([^']+)'/.exec(stderr)?.[1];
  if (missing !== undefined) {
    return `the package ${missing} is missing: install it with \`${python} -m pip install ${missing}\`, or name another interpreter with --python`;
  }
  const last = stderr.trim().split("\n").at(-1);
  return `${python} could not import pyarrow: ${last || (error as Error).message}`;
}
