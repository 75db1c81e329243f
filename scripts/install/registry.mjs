import { spawn } from "node:child_process";
import { mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import getPort from "get-port";
import { installFolder, npm } from "../build/dependencies.mjs";
import { root } from "../build/paths.mjs";

const START_TIMEOUT_MS = 60_000;

/**
 * Starts a registry of npm packages on loopback (verdaccio). It stores the packages of joust, and proxies all
 * others to the registry of npm's configuration.
 *
 * @param {string} folder its storage
 * @param {string} node the Node that runs it: verdaccio needs 22 or newer
 */
export async function startRegistry(folder, node) {
  const tool = join(root, "test", "install");
  installFolder(tool);
  mkdirSync(folder, { recursive: true });
  const config = join(folder, "config.yaml");
  writeFileSync(config, configuration(folder));
  const port = await getPort({ host: "127.0.0.1" });
  const log = join(folder, "log");
  const out = openSync(log, "w");
  const script = join(tool, "node_modules", "verdaccio", "bin", "verdaccio");
  const args = [script, "--config", config, "--listen", `http://127.0.0.1:${port}`];
  const child = spawn(node, args, { cwd: folder, stdio: ["ignore", out, out] });
  const url = `http://127.0.0.1:${port}/`;
  await waitUntilReady(`${url}-/ping`, child, log);
  return {
    url,
    /** Publishes a folder. `tag`: npm requires a tag other than latest for a version with a suffix. */
    publish(folder, tag = "latest") {
      // The registry accepts every client, but npm requires a token.
      const token = `--//127.0.0.1:${port}/:_authToken=anybody`;
      const options = [`--registry=${url}`, token, `--tag=${tag}`];
      npm(["publish", ...options, "--ignore-scripts", "--loglevel=error"], {
        cwd: folder,
        stdio: ["ignore", "ignore", 2],
      });
    },
    stop: () => child.kill("SIGTERM"),
  };
}

const configuration = (folder) => `
storage: ${join(folder, "storage")}
max_body_size: 1000mb
uplinks:
  npm:
    url: ${npm(["config", "get", "registry"], { cwd: root, stdio: ["ignore", "pipe", "ignore"] }).trim()}
    timeout: 120s
packages:
  "{joust,joust-*}":
    access: $all
    publish: $all
  "**":
    access: $all
    proxy: npm
web:
  enable: false
log:
  type: stdout
  format: json
  level: warn
`;

async function waitUntilReady(url, child, log) {
  const until = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.ok) return;
    if (child.exitCode !== null || Date.now() > until) {
      child.kill("SIGKILL");
      throw new Error(`the registry did not start: ${readFileSync(log, "utf8")}`);
    }
    await sleep(100);
  }
}
