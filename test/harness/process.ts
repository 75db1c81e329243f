import { type ChildProcess, spawn } from "node:child_process";

export interface RunningProcess {
  readonly pid: number;
  readonly child: ChildProcess;
  /** Its output so far, stdout and stderr. */
  output(): string;
  /** Its exit code; null when a signal ended it. */
  readonly exited: Promise<number | null>;
  /** Sends SIGTERM (or the given signal) and waits for the exit. SIGKILL follows after `graceMs`. */
  stop(signal?: NodeJS.Signals, graceMs?: number): Promise<number | null>;
}

export interface StartOptions {
  args?: readonly string[];
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  uid?: number;
  gid?: number;
}

/** Starts a program and resolves with the first result of `ready` other than undefined. */
export async function startProcess<T>(
  command: string,
  options: StartOptions,
  ready: (output: string) => T | undefined,
  timeoutMs = 20_000,
): Promise<{ process: RunningProcess; ready: T }> {
  const { args = [], ...spawnOptions } = options;
  const child = spawn(command, args, { ...spawnOptions, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  let notice = () => {};
  const collect = (chunk: Buffer): void => {
    output += chunk.toString();
    notice();
  };
  child.stdout.on("data", collect);
  child.stderr.on("data", collect);
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once("exit", (code) => resolve(code));
    child.once("error", reject);
  });

  const value = await new Promise<T>((resolve, reject) => {
    const fail = (why: string): void => reject(new Error(`${command} ${why}\n${output}`));
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      fail(`was not ready within ${timeoutMs} ms`);
    }, timeoutMs);
    notice = () => {
      const result = ready(output);
      if (result === undefined) return;
      clearTimeout(timer);
      notice = () => {};
      resolve(result);
    };
    exited.then(
      (code) => {
        clearTimeout(timer);
        fail(`ended with code ${code} before it was ready`);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });

  return {
    ready: value,
    process: {
      pid: child.pid as number,
      child,
      output: () => output,
      exited,
      async stop(signal = "SIGTERM", graceMs = 15_000) {
        if (child.exitCode !== null || child.signalCode !== null) return exited;
        child.kill(signal);
        const timer = setTimeout(() => child.kill("SIGKILL"), graceMs);
        const code = await exited;
        clearTimeout(timer);
        return code;
      },
    },
  };
}
