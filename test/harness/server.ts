import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { CLI_MAIN } from "./cli.js";
import { Client } from "./client.js";
import { startProcess } from "./process.js";
import { removeDir, tempDir } from "./temp.js";

export interface ServerOptions {
  /** Directory or URI to serve; default: a temporary directory that `stop` removes. */
  root?: string;
  /** Further arguments of `joust serve`. */
  args?: readonly string[];
  /** Further environment; joust's own variables of the surrounding process are not passed on. */
  env?: Record<string, string>;
  /** The admin key given from outside; null: none, so that the server makes its own on a new root. */
  key?: string | null;
  timeoutMs?: number;
}

export interface Server {
  readonly url: string;
  readonly port: number;
  readonly root: string;
  /** The admin key, "" when none was given. */
  readonly key: string;
  readonly pid: number;
  /** Speaks with the admin key. */
  readonly client: Client;
  /** What the process printed so far, both streams. */
  output(): string;
  /** Resident memory now, bytes (Linux). */
  rss(): number;
  /** When the process has ended, however that was. */
  readonly exited: Promise<unknown>;
  /** SIGTERM, waits for the end, removes the root if it is ours; the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  /** SIGKILL; the root stays, for a second start on it. */
  kill(): Promise<void>;
}

/** `JOUST_TEST_HTTP_THREADS=2`: every server of the tests has so many threads that take requests. */
const threads = process.env.JOUST_TEST_HTTP_THREADS;

/** `JOUST_TEST_HTTP=uws|node`: every server of the tests has that transport. vitest.config.ts sets it. */
const transport = process.env.JOUST_TEST_HTTP;

/** Starts the built server as a process of its own, on a port of the system's choice. */
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

/** A key in the server's form. */
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
