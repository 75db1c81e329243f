import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { tempDir } from "../harness/temp.js";

const main = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

export interface Ended {
  code: number;
  out: string;
  err: string;
}

/** Runs `joust` until it ends by itself. */
export function joust(
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<Ended> {
  return new Promise((resolve) => {
    const { cwd = tempDir("cli"), env = {} } = options;
    const settings = { cwd, env: { PATH: process.env.PATH, ...env }, timeout: 20_000 };
    execFile(process.execPath, [main, ...args], settings, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err });
    });
  });
}
