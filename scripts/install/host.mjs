import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "../build/paths.mjs";
import { makePath } from "./node.mjs";
import { runToEnd, startUntil } from "./processes.mjs";

/** Runs a program in a mount namespace with an empty directory over the checkout. PATH applies to mount only. */
const HIDE = [
  "/usr/bin/unshare",
  "--mount",
  "/bin/sh",
  "-c",
  'PATH=/usr/bin:/bin:/usr/sbin:/sbin mount -t tmpfs none "$0" && exec "$@"',
  root,
];

/** The reason why this system cannot hide the checkout from a program; undefined if it can. */
export function hidingFault() {
  const [program, ...args] = [...HIDE, "/bin/sh", "-c", ":"];
  const { status, stderr, error } = spawnSync(program, args, { encoding: "utf8" });
  return status === 0 ? undefined : (error?.message ?? stderr.trim());
}

/**
 * The environment of a new user: an empty home directory, an empty cache of npm, an empty folder for an
 * application, and a PATH with only Node, npm and a shell.
 *
 * @param {string} folder the folder for all of these
 * @param {{ node: string, registry: string, hidden?: boolean }} options `hidden`: hide the checkout
 */
export function newHost(folder, { node, registry, hidden = false }) {
  const app = join(folder, "app");
  const temporary = join(folder, "tmp");
  for (const path of [app, temporary, join(folder, "home")]) mkdirSync(path, { recursive: true });
  const env = {
    PATH: makePath(join(folder, "bin"), node),
    HOME: join(folder, "home"),
    TMPDIR: temporary,
    npm_config_cache: join(folder, "cache"),
    npm_config_registry: registry,
    npm_config_update_notifier: "false",
    npm_config_audit: "false",
    npm_config_fund: "false",
  };
  const command = (name, args) => {
    const plain = [join(env.PATH, name), ...args];
    return hidden ? [...HIDE, ...plain] : plain;
  };
  const options = { cwd: app, env };
  return {
    app,
    temporary,
    modules: join(app, "node_modules"),
    /** Runs npm, npx or node until it ends. */
    run(name, ...args) {
      const [program, ...rest] = command(name, args);
      return runToEnd(program, rest, options);
    },
    /** Starts npx and waits until `parse` returns a result from its output. */
    start(args, parse) {
      const [program, ...rest] = command("npx", args);
      return startUntil(program, rest, options, parse);
    },
  };
}
