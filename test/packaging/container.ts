import { execFileSync, spawnSync } from "node:child_process";
import { type RunningProcess, startProcess } from "../harness/process.js";
import type { Image } from "./image.js";

export interface Container {
  readonly process: RunningProcess;
  readonly url: string;
  /** Runs the image's health check beside the server; its exit code. */
  health(): number | null;
}

/**
 * Starts what the image says, as the user that it says, on its files: read-only but for /tmp and the volume.
 * The mounts are in a namespace of the process and end with it.
 */
export async function startContainer(image: Image, data: string, port: number): Promise<Container> {
  const { config } = image;
  const env = { ...variables(config.Env), JOUST_PORT: String(port) };
  const command = (args: readonly string[]): string[] => inChroot(image, data, args);
  const { process: running } = await startProcess(
    "unshare",
    { args: command([...config.Entrypoint, ...config.Cmd]), env },
    (output) => /joust listening on/.test(output) || undefined,
    60_000,
  );
  const [kind, ...check] = config.Healthcheck.Test;
  if (kind !== "CMD") throw new Error(`the health check is of the kind ${kind}, not CMD`);
  return {
    process: running,
    url: `http://127.0.0.1:${port}`,
    health: () => spawnSync("unshare", command(check), { env, stdio: "inherit" }).status,
  };
}

/** Arguments of `unshare` that run a command in the image's files. `exec` throughout: signals reach the command. */
function inChroot(image: Image, data: string, args: readonly string[]): string[] {
  const mounts = [
    'mount --bind "$FILES" "$FILES"',
    'mount --bind "$DATA" "$FILES/data"',
    'mount -t tmpfs tmpfs "$FILES/tmp"',
    'mount --rbind /proc "$FILES/proc"',
    'mount --rbind /dev "$FILES/dev"',
    'mount -o remount,bind,ro "$FILES"',
    'cd /; exec env -u FILES -u DATA chroot --userspec="$USERSPEC" --groups= "$FILES" "$@"',
  ];
  const inside = ["env", "-u", "USERSPEC", "--chdir", image.config.WorkingDir, ...args];
  const outside = [`FILES=${image.files}`, `DATA=${data}`, `USERSPEC=${image.config.User}`];
  return ["--mount", "env", ...outside, "sh", "-ec", mounts.join("\n"), "sh", ...inside];
}

const variables = (env: readonly string[]): Record<string, string> =>
  Object.fromEntries(env.map((line) => line.split(/=(.*)/s).slice(0, 2)));

/** The user that a process runs as, effective. */
export function userOf(pid: number): { uid: number; gid: number } {
  const [uid, gid] = execFileSync("ps", ["-o", "euid=,egid=", "-p", String(pid)])
    .toString()
    .trim()
    .split(/\s+/)
    .map(Number);
  return { uid: uid as number, gid: gid as number };
}
