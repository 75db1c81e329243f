import { execFileSync, spawnSync } from "node:child_process";
import { type RunningProcess, startProcess } from "../harness/process.js";
import type { Image } from "./image.js";

export interface Container {
  readonly process: RunningProcess;
  readonly url: string;
  /** Runs the health check of the image while the server runs; returns its exit code. */
  health(): number | null;
}

/**
 * Starts the command of the image as its user on its files, which are read-only except for /tmp and the volume. The
 * mount namespace of the process contains the mounts, so they end with it.
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
  if (kind !== "CMD") throw new Error(`the health check has the kind ${kind} instead of CMD`);
  return {
    process: running,
    url: `http://127.0.0.1:${port}`,
    health: () => spawnSync("unshare", command(check), { env, stdio: "inherit" }).status,
  };
}

/** Arguments of `unshare` that run a command on the files of the image. Each step uses `exec`, so that the command receives signals. */
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

/** The effective user of a process. */
export function userOf(pid: number): { uid: number; gid: number } {
  const [uid, gid] = execFileSync("ps", ["-o", "euid=,egid=", "-p", String(pid)])
    .toString()
    .trim()
    .split(/\s+/)
    .map(Number);
  return { uid: uid as number, gid: gid as number };
}
