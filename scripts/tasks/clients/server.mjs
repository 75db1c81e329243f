import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../../build/paths.mjs";

/**
 * Starts the built server on an empty folder, runs `work`, and stops it. `environment`: what tests in other languages
 * need to know of the server.
 */
export async function withServer(work) {
  const folder = mkdtempSync(join(tmpdir(), "joust-clients-"));
  const server = await start(folder);
  try {
    const { url, key, sqlPort } = server;
    return await work({ JOUST_URL: url, JOUST_KEY: key, JOUST_SQL_PORT: String(sqlPort) });
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A port that was free a moment ago. */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Starts the built server. */
async function start(folder) {
  const sqlPort = await freePort();
  const key = `joust_${randomBytes(32).toString("base64url")}`;
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("JOUST_"));
  const main = join(root, "dist", "cli", "main.js");
  const server = spawn(process.execPath, [main, "serve", folder, "--port", "0"], {
    env: {
      ...Object.fromEntries(inherited),
      JOUST_API_KEY: key,
      JOUST_SQL_PORT: String(sqlPort),
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => server.once("exit", resolve));
  const stop = () => {
    server.kill();
    return ended;
  };
  return new Promise((resolve, reject) => {
    let output = "";
    server.stdout.on("data", (chunk) => {
      output += chunk;
      const ready = /joust listening on (http:\/\/\S+)/.exec(output);
      if (!ready) return;
      clearTimeout(late);
      resolve({ url: ready[1], sqlPort, key, stop });
    });
    const late = setTimeout(() => {
      server.kill();
      reject(new Error(`the server does not listen after a minute:\n${output}`));
    }, 60_000).unref();
    ended.then((code) => reject(new Error(`the server ended with ${code}:\n${output}`)));
  });
}
