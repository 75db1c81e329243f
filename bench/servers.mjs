import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { root as checkout } from "../scripts/build/paths.mjs";

const KEY = "joust_bench";
const PYTHON = join(
  process.env.JOUST_VENV ?? join(homedir(), ".cache", "joust", "venv"),
  "bin/python",
);

/** joust over a root. */
export function startJoust(root) {
  const main = join(checkout, "dist", "cli", "main.js");
  const args = [main, "serve", root, "--port", "0", "--log-level", "warn", "--api-key", KEY];
  return start("joust", process.execPath, args);
}

/** pylance's adapter over a root; undefined where the client tests' Python environment is absent. */
export function startPeer(root, { sharedSession }) {
  if (!existsSync(PYTHON)) return undefined;
  const name = `pylance RestAdapter, ${sharedSession ? "shared session" : "as it comes"}`;
  const peer = join(checkout, "bench", "peer.py");
  return start(name, PYTHON, [peer, root, ...(sharedSession ? ["--shared-session"] : [])]);
}

function start(name, command, args) {
  // The peer logs a warning for each query, which would be measured too.
  const env = { ...process.env, LANCE_LOG: "error", RUST_LOG: "error" };
  const child = spawn(command, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const stop = () => {
    child.kill("SIGTERM");
    return ended;
  };
  return new Promise((resolve, reject) => {
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
      const url = /listening on (http:\/\/\S+)/.exec(output)?.[1];
      if (url) resolve({ name, url, headers: { authorization: `Bearer ${KEY}` }, stop });
    });
    ended.then((code) => reject(new Error(`${name} ended with code ${code}`)));
  });
}
