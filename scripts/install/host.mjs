import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "../build/paths.mjs";
import { programs } from "./node.mjs";
import { runToEnd, startUntil } from "./processes.mjs";

/** Runs a program where an empty directory is in the place of the checkout. With a PATH for itself only. */
const HIDE = [
  "/usr/bin/unshare",
  "--mount",
  "/bin/sh",
  "-c",
  'PATH=/usr/bin:/bin:/usr/sbin:/sbin mount -t tmpfs none "$0" && exec "$@"',
  root,
];

/** Why the checkout cannot be hidden from a program; undefined when it can. */
export function hidingMissing() {
  const [program, ...args] = [...HIDE, "/bin/sh", "-c", ":"];
  const { status, stderr, error } = spawnSync(program, args, { encoding: "utf8" });
  return status === 0 ? undefined : (error?.message ?? stderr.trim());
}

/**
 * A host as a new user has it: an empty home, an empty cache of npm, an empty folder for an application, and
 * nothing on PATH but Node, npm and a shell.
 *
 * @param {string} folder of all that
 * @param {{ node: string, registry: string, hidden?: boolean }} given `hidden`: nothing of the checkout is there
 */
export function newHost(folder, { node, registry, hidden = false }) {
  const app = join(folder, "app");
  const temporary = join(folder, "tmp");
  for (const one of [app, temporary, join(folder, "home")]) mkdirSync(one, { recursive: true });
  const env = {
    PATH: programs(join(folder, "bin"), node),
    HOME: join(folder, "home"),
    TMPDIR: temporary,
    npm_config_cache: join(folder, "cache"),
    npm_config_registry: registry,
    npm_config_update_notifier: "false",
    npm_config_audit: "false",
    npm_config_fund: "false",
  };
  const command = (name, args) => {
    const own = [join(env.PATH, name), ...args];
    return hidden ? [...HIDE, ...own] : own;
  };
  const options = { cwd: app, env };
  return {
    app,
    temporary,
    modules: join(app, "node_modules"),
    /** Runs npm, npx or node to the end. */
    run(name, ...args) {
      const [program, ...rest] = command(name, args);
      return runToEnd(program, rest, options);
    },
    /** Starts npx until `ready` finds something in its output. */
    start(args, ready) {
      const [program, ...rest] = command("npx", args);
      return startUntil(program, rest, options, ready);
    },
  };
}
