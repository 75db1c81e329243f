import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import getPort from "get-port";
import { CLI_MAIN } from "../harness/cli.js";
import { type RunningProcess, startProcess } from "../harness/process.js";
import { findProgram } from "../harness/programs.js";
import { waitFor } from "../harness/wait-for.js";
import { folder } from "./compose.js";

/** What HAProxy says about a server of the backend. */
export interface ServerStatus {
  /** `UP` or `DOWN`. */
  readonly status: string;
  /** `L7OK/200`, `L7TOUT`, `L4CON`. */
  readonly check: string;
  /** Requests that HAProxy sent to it. */
  readonly requests: number;
}

export interface LoadBalancer {
  readonly url: string;
  status(): Promise<Record<string, ServerStatus>>;
  stop(): Promise<unknown>;
}

/** Starts HAProxy with the configuration of the compose file, for servers at these loopback ports. */
export async function startProxy(
  directory: string,
  ports: Readonly<Record<string, number>>,
  edit: (config: string) => string = (config) => config,
): Promise<LoadBalancer> {
  const haproxy = findProgram("haproxy", ["/usr/sbin", "/usr/local/sbin"]);
  if (!haproxy) throw new Error("haproxy is not installed: run apt-get install haproxy");
  const port = await getPort({ host: "127.0.0.1" });
  const socket = join(directory, `haproxy-${port}.sock`);
  let config = edit(readFileSync(join(folder, "haproxy.cfg"), "utf8"))
    .replace("bind :2333", `bind 127.0.0.1:${port}`)
    .replace("global\n", `global\n  stats socket ${socket}\n`);
  for (const [host, serverPort] of Object.entries(ports)) {
    if (!config.includes(` ${host}:2333\n`)) throw new Error(`haproxy.cfg does not name ${host}`);
    config = config.replace(` ${host}:2333\n`, ` 127.0.0.1:${serverPort}\n`);
  }
  const file = join(directory, `haproxy-${port}.cfg`);
  writeFileSync(file, config);
  // HAProxy prints nothing after its start.
  const { process: running } = await startProcess(
    "sh",
    { args: ["-c", 'echo starting; exec "$0" -db -f "$1"', haproxy, file] },
    (output) => output.includes("starting") || undefined,
  );
  await waitFor(`HAProxy starts: ${running.output()}`, async () => {
    await statusOf(socket);
    return true;
  });
  return {
    url: `http://127.0.0.1:${port}`,
    status: () => statusOf(socket),
    stop: () => running.stop("SIGTERM"),
  };
}

/** Starts `joust serve` with the arguments of a compose service, on a loopback port. */
export async function serve(
  args: readonly string[],
  port: number,
  env: Readonly<Record<string, string>>,
): Promise<RunningProcess> {
  const { process: running } = await startProcess(
    process.execPath,
    { args: [CLI_MAIN, ...args, "--port", String(port)], env: { PATH: process.env.PATH, ...env } },
    (output) => /joust listening on/.test(output) || undefined,
    60_000,
  );
  return running;
}

async function statusOf(socket: string): Promise<Record<string, ServerStatus>> {
  const [header, ...lines] = (await sendCommand(socket, "show stat\n")).trim().split("\n");
  const names = (header as string).replace(/^# /, "").split(",");
  const servers: Record<string, ServerStatus> = {};
  for (const line of lines) {
    const cells = line.split(",");
    const cell = (name: string): string => cells[names.indexOf(name)] ?? "";
    if (cell("pxname") !== "servers" || cell("svname") === "BACKEND") continue;
    const check = [cell("check_status").replace("* ", ""), cell("check_code")];
    servers[cell("svname")] = {
      status: cell("status").split(" ")[0] as string,
      check: check.filter(Boolean).join("/"),
      requests: Number(cell("stot")),
    };
  }
  return servers;
}

function sendCommand(path: string, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect({ path }, () => socket.write(command));
    socket.on("data", (chunk) => {
      answer += chunk;
    });
    socket.once("end", () => resolve(answer));
    socket.once("error", reject);
  });
}
