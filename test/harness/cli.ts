import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { tempDir } from "./temp.js";

/** The entry point of the built `joust` command. */
export const CLI_MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

export interface CliResult<Output = string> {
  code: number;
  out: Output;
  err: string;
}

interface CliOptions {
  cwd?: string;
  env?: Record<string, string>;
  timeoutMs?: number;
}

/** Runs `joust` until it exits, without the environment of the tests. */
export async function runCli(
  args: readonly string[],
  options: CliOptions = {},
): Promise<CliResult> {
  const { code, out, err } = await runCliBytes(args, options);
  return { code, out: out.toString(), err };
}

/** `runCli` for output that is not text. */
export function runCliBytes(
  args: readonly string[],
  { cwd = tempDir("cli"), env = {}, timeoutMs = 20_000 }: CliOptions = {},
): Promise<CliResult<Buffer>> {
  const options = {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    timeout: timeoutMs,
    encoding: "buffer" as const,
    maxBuffer: 2 ** 28,
  };
  return new Promise((resolve) => {
    execFile(process.execPath, [CLI_MAIN, ...args], options, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err: err.toString() });
    });
  });
}

/** Creates an API key beside a running server, as an operator does. */
export async function createKey(
  root: string,
  role: "none" | "read" | "write" | "admin" = "read",
  options: readonly string[] = [],
): Promise<{ key: string; id: string }> {
  const args = ["key", "create", "--name", role, "--role", role, ...options, root];
  const { out, err } = await runCli(args);
  const [, key, id] = /: (joust_\S+)\nid: (\S+)/.exec(out) ?? [];
  if (key === undefined || id === undefined) throw new Error(`no key was created: ${out}${err}`);
  return { key, id };
}
