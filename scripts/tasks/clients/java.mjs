import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../../build/paths.mjs";
import { noTests, surefireCounts, withExitCode } from "../counts.mjs";

const PROJECT = join(root, "test", "clients", "java");
const MINUTE = 60_000;

/** Tests the generated `lance-namespace` client for Java with JUnit. */
export async function javaClients() {
  const reason = missingProgram() ?? fetchAndCompile();
  if (reason) {
    console.log(`skipped: the Java client; ${reason}`);
    return { ...noTests, skipped: 1 };
  }
  const folder = mkdtempSync(join(tmpdir(), "joust-java-"));
  const server = await start(folder);
  try {
    const environment = {
      JOUST_URL: server.url,
      JOUST_KEY: server.key,
      JOUST_SQL_PORT: String(server.sqlPort),
    };
    // Offline, because all packages are present: an unreachable network cannot delay the tests.
    const tests = maven(["--offline", "surefire:test"], 5 * MINUTE, environment);
    process.stdout.write(tests.stdout);
    return withExitCode(surefireCounts(tests.stdout), tests.status);
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function missingProgram() {
  const programs = { java: ["-version"], mvn: ["--version"] };
  for (const [name, args] of Object.entries(programs)) {
    if (spawnSync(name, args, { stdio: "ignore" }).status !== 0) return `${name} is not installed`;
  }
}

/**
 * Downloads the packages and compiles the tests.
 *
 * @returns {string | undefined} the reason why the network prevented it
 * @throws Error if the tests do not compile or a package does not exist
 */
function fetchAndCompile() {
  const task = ["-DskipTests", "test"];
  if (maven(["--offline", ...task], 5 * MINUTE).status === 0) return;
  const { status, stdout, error } = maven(task, 10 * MINUTE);
  if (status === 0) return;
  if (error?.code === "ETIMEDOUT") return "its packages did not arrive within 10 minutes";
  if (/Could not transfer artifact|Unknown host|Connection refused/.test(stdout)) {
    return "its packages could not be fetched";
  }
  process.stdout.write(stdout);
  throw new Error("the Java client tests do not compile");
}

function maven(args, timeout, environment = {}) {
  return spawnSync(
    "mvn",
    ["--batch-mode", "--no-transfer-progress", "-Dstyle.color=never", ...args],
    {
      cwd: PROJECT,
      env: { ...process.env, ...environment },
      stdio: ["ignore", "pipe", "inherit"],
      encoding: "utf8",
      maxBuffer: 64 * 1024 * 1024,
      timeout,
    },
  );
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
      if (ready) resolve({ url: ready[1], sqlPort, key, stop });
    });
    ended.then((code) => reject(new Error(`the server ended with ${code}:\n${output}`)));
  });
}
