import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { CLI_MAIN } from "./cli.js";
import { Client } from "./client.js";
import { startProcess } from "./process.js";
import { removeDir, tempDir } from "./temp.js";

export interface ServerOptions {
  /** Directory or URI to serve; default: a temporary directory, which `stop` removes. */
  root?: string;
  /** Further arguments of `joust serve`. */
  args?: readonly string[];
  /** Further environment; JOUST_ variables of the test process are not inherited. */
  env?: Record<string, string>;
  /** The configured admin key; null: none, so that the server creates one on a new root. */
  key?: string | null;
  timeoutMs?: number;
}

export interface Server {
  readonly url: string;
  readonly port: number;
  readonly root: string;
  /** The admin key, "" if none was configured. */
  readonly key: string;
  readonly pid: number;
  /** A client with the admin key. */
  readonly client: Client;
  /** The output of the process so far, stdout and stderr. */
  output(): string;
  /** Current resident memory in bytes (Linux). */
  rss(): number;
  /** Resolves when the process has ended for any reason. */
  readonly exited: Promise<unknown>;
  /** Sends SIGTERM, waits for the exit and removes a temporary root; returns the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  /** Sends SIGKILL; the root stays for another server. */
  kill(): Promise<void>;
}

/** `JOUST_TEST_HTTP_THREADS=2`: the number of HTTP threads of every server in the tests. */
const threads = process.env.JOUST_TEST_HTTP_THREADS;

/** `JOUST_TEST_HTTP=uws|node`: the transport of every server in the tests. vitest.config.ts sets it. */
const transport = process.env.JOUST_TEST_HTTP;

/** Starts the built server in a separate process on a free port. */
export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const ownRoot = options.root === undefined;
  const root = options.root ?? tempDir("root");
  const key = options.key === undefined ? newKey() : (options.key ?? "");
  const env: NodeJS.ProcessEnv = { ...inherited(), ...options.env };
  if (key !== "") env.JOUST_API_KEY = key;
  if (threads !== undefined) env.JOUST_HTTP_THREADS ??= threads;
  if (transport !== undefined) env.JOUST_HTTP ??= transport;

  const { process: running, ready: url } = await startProcess(
    process.execPath,
    { args: [CLI_MAIN, "serve", root, "--port", "0", ...(options.args ?? [])], env },
    (output) => /joust listening on (https?:\/\/\S+)/.exec(output)?.[1],
    options.timeoutMs,
  ).catch((error: unknown) => {
    if (ownRoot) removeDir(root);
    throw error;
  });

  return {
    url,
    port: Number(new URL(url).port),
    root,
    key,
    pid: running.pid,
    client: new Client(url, key),
    output: running.output,
    exited: running.exited,
    rss: () => residentBytes(running.pid),
    async stop(signal) {
      const code = await running.stop(signal);
      if (ownRoot) removeDir(root);
      return code;
    },
    async kill() {
      await running.stop("SIGKILL");
    },
  };
}

/** Creates a key in the server's format. */
export function newKey(): string {
  return `joust_${randomBytes(32).toString("base64url")}`;
}

function inherited(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith("JOUST_")),
  );
}

function residentBytes(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  if (kib === undefined) throw new Error("the process has no resident memory: has it ended?");
  return Number(kib) * 1024;
}
