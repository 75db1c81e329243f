import { spawn } from "node:child_process";
import { mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { installFolder, npm } from "../build/dependencies.mjs";
import { root } from "../build/paths.mjs";

const PATIENCE_MS = 60_000;

/**
 * A registry of npm packages on loopback (verdaccio). joust's packages are its own, all others come from the
 * registry that npm is set up for.
 *
 * @param {string} folder what it stores
 * @param {string} node the Node that runs it: verdaccio needs 22 and recommends the newest
 */
export async function startRegistry(folder, node) {
  const tool = join(root, "test", "install");
  installFolder(tool);
  mkdirSync(folder, { recursive: true });
  const config = join(folder, "config.yaml");
  writeFileSync(config, configuration(folder));
  const port = await freePort();
  const log = join(folder, "log");
  const out = openSync(log, "w");
  const script = join(tool, "node_modules", "verdaccio", "bin", "verdaccio");
  const args = [script, "--config", config, "--listen", `http://127.0.0.1:${port}`];
  const child = spawn(node, args, { cwd: folder, stdio: ["ignore", out, out] });
  const url = `http://127.0.0.1:${port}/`;
  await answers(`${url}-/ping`, child, log);
  return {
    url,
    /** Publishes a folder as it is. `tag`: npm wants one of its own for a version with a suffix. */
    publish(package_, tag = "latest") {
      // Anybody may publish here, but npm wants to see a token.
      const token = `--//127.0.0.1:${port}/:_authToken=anybody`;
      const options = [`--registry=${url}`, token, `--tag=${tag}`];
      npm(["publish", ...options, "--ignore-scripts", "--loglevel=error"], {
        cwd: package_,
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

async function answers(url, child, log) {
  const until = Date.now() + PATIENCE_MS;
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

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
