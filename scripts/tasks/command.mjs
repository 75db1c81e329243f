import { spawn } from "node:child_process";
import { root } from "../build/paths.mjs";

/** Runs a program in the checkout with inherited streams; resolves with its exit code. */
export function command(program, args, { env = {} } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: "inherit",
    });
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? 1));
  });
}
