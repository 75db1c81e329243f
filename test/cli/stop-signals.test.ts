import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { sharesPorts } from "../../src/http/transport/node/transport.js";
import { items } from "../harness/arrow.js";
import { CLI_MAIN } from "../harness/cli.js";
import { type RunningProcess, startProcess } from "../harness/process.js";
import { startServer } from "../harness/server.js";
import { tempDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";

const transport = process.env.JOUST_TEST_HTTP ?? "auto";

/** Only Linux, and Node's own transport from Node 22.12 on, share a port among threads. */
const hasThreads = process.platform === "linux" && (transport !== "node" || sharesPorts());

/** The first process of a container: the default actions of signals do not apply to it. */
const asFirstProcess = ["unshare", "--pid", "--fork", "--kill-child"] as const;
const [unshare, ...unshareArgs] = asFirstProcess;
const unshareMissing =
  spawnSync(unshare, [...unshareArgs, "true"]).status === 0 ? "" : " (needs unshare and root)";

/** Starts `joust`, and resolves when its output contains `ready`. */
async function start(
  prefix: readonly string[],
  args: readonly string[],
  ready: string | RegExp,
): Promise<RunningProcess> {
  const [command = "", ...rest] = [...prefix, process.execPath, CLI_MAIN, ...args];
  const { process: running } = await startProcess(
    command,
    { args: rest, env: { PATH: process.env.PATH } },
    (output) => output.match(ready) ?? undefined,
  );
  onTestFinished(() => void running.stop("SIGKILL"));
  return running;
}

/** The process that `unshare` started. */
const childOf = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")[0]);

const serveArgs = (threads: number) => [
  ...["serve", tempDir("root"), "--port", "0", "--sql-port", "0", "--http", transport],
  ...["--http-threads", String(threads)],
];

describe("SIGTERM during the start of joust serve", () => {
  it.skipIf(unshareMissing)(`ends the first process of a container${unshareMissing}`, async () => {
    const args = [...unshareArgs, process.execPath, CLI_MAIN, ...serveArgs(1)];
    const child = spawn(unshare, args, { env: { PATH: process.env.PATH } });
    onTestFinished(() => void child.kill("SIGKILL"));
    let output = "";
    child.stdout.on("data", (part) => {
      output += part;
    });
    // A signal that arrives before Node has loaded the command is lost.
    await waitFor("the process ends", () => {
      const pid = child.exitCode === null && childOf(child.pid as number);
      if (pid) process.kill(pid, "SIGTERM");
      return child.exitCode !== null;
    });
    expect(child.exitCode).toBe(143);
    expect(output).not.toContain("listening");
  });

  it.runIf(hasThreads)("ends a server whose threads start", async () => {
    const running = await start([], serveArgs(8), "the HTTP transport");
    expect(await running.stop("SIGTERM")).toBe(143);
    expect(running.output()).not.toMatch(/listening|uv loop|Assertion/);
  });
});

describe("joust maintain", () => {
  const root = tempDir("maintain");
  beforeAll(async () => {
    const server = await startServer({ root, args: ["--maintenance", "off"] });
    for (let n = 0; n < 20; n++) await server.client.createTable(`t${n}`, items(1));
    await server.stop();
  });

  it.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const)("stops at %s with exit code %i", async (signal, code) => {
    const running = await start([], ["maintain", root], "nothing to do");
    expect(await running.stop(signal)).toBe(code);
    expect(running.output()).not.toMatch(/failed|"level"/);
  });

  it.skipIf(unshareMissing)(
    `stops as the first process of a container${unshareMissing}`,
    async () => {
      const running = await start(asFirstProcess, ["maintain", root], "nothing to do");
      process.kill(childOf(running.pid), "SIGTERM");
      expect(await running.exited).toBe(143);
      expect(running.output()).not.toMatch(/failed|"level"/);
    },
  );
});
