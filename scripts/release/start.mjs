/**
 * `node scripts/release/start.mjs FOLDER`: installs the packed packages of a folder into an empty directory, starts
 * the server and tests a table, a query, /docs and a clean stop. It needs only Node and npm, so that the release
 * workflow can run it in an empty container.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const START_MS = 60_000;
const STOP_MS = 30_000;
const KEY = "release-check";

const [source] = process.argv.slice(2);
if (!source) throw new Error("pass the folder with the packed packages");
const folder = mkdtempSync(join(tmpdir(), "joust-start-"));
try {
  install(packagesFor(resolve(source)));
  await testServer();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** The main package and the platform package of this host. */
function packagesFor(from) {
  const isGlibc = process.report.getReport().header.glibcVersionRuntime !== undefined;
  const abi = process.platform === "linux" ? (isGlibc ? "-gnu" : "-musl") : "";
  const suffix = `-${process.platform}-${process.arch}${abi}-`;
  const files = readdirSync(from).filter((name) => name.endsWith(".tgz"));
  const chosen = files.filter((name) => name.includes(suffix) || !/-(x64|arm64)-/.test(name));
  if (chosen.length !== 2) {
    throw new Error(
      `${from} must contain one package *${suffix}* and one main package, not ${files.join(", ")}`,
    );
  }
  return chosen.map((name) => join(from, name));
}

function install(packages) {
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const started = performance.now();
  const options = ["--no-audit", "--no-fund", "--loglevel=error"];
  const shell = process.platform === "win32";
  execFileSync("npm", ["install", ...options, ...packages], {
    cwd: folder,
    stdio: "inherit",
    shell,
  });
  console.log(`installed after ${seconds(started)} s`);
}

async function testServer() {
  const main = join(folder, "node_modules", "joust", "dist", "cli", "main.js");
  const version = execFileSync(process.execPath, [main, "--version"], { encoding: "utf8" });
  console.log(`Node ${process.versions.node}, ${version.trim().replaceAll("\n", ", ")}`);
  const started = performance.now();
  const server = spawn(process.execPath, [main, "serve", join(folder, "data"), "--port", "0"], {
    cwd: folder,
    env: { ...process.env, JOUST_API_KEY: KEY },
    stdio: ["ignore", "pipe", "pipe"],
  });
  try {
    const url = await address(server);
    console.log(`started after ${seconds(started)} s`);
    await testDocs(url);
    await testQuery(url);
    const ended = once(server, "exit", { signal: AbortSignal.timeout(STOP_MS) });
    server.kill("SIGTERM");
    const [code] = await ended;
    if (code !== 0) throw new Error(`the server ended with ${code} after SIGTERM`);
    console.log("stopped cleanly");
  } finally {
    server.kill("SIGKILL");
  }
}

/** The address of the server. Rejects with the output of the server if it ends or does not start in time. */
function address(server) {
  return new Promise((resolve, reject) => {
    let output = "";
    const fail = (reason) => reject(new Error(`the server ${reason}:\n${output}`));
    const timer = setTimeout(() => fail(`did not start within ${START_MS / 1000} s`), START_MS);
    const read = (chunk) => {
      output += chunk;
      const [, url] = /joust listening on (http:\/\/[^\s"]+)/.exec(output) ?? [];
      if (url === undefined) return;
      clearTimeout(timer);
      resolve(url);
    };
    server.stdout.on("data", read);
    server.stderr.on("data", read);
    server.once("exit", (code) => {
      clearTimeout(timer);
      fail(`ended with ${code}`);
    });
  });
}

/** Loads the page at /docs with all scripts and styles, which the build copies into the package. */
async function testDocs(url) {
  const html = await (await request(`${url}/docs`)).text();
  const links = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link);
  const parts = links.filter((link) => !link.startsWith("data:"));
  if (parts.length === 0) throw new Error("/docs contains no links to scripts or styles");
  for (const part of parts) await request(new URL(part, `${url}/`).href);
  console.log(`/docs and its ${parts.length} files load`);
}

/** Inserts three rows and queries the nearest one. */
async function testQuery(url) {
  const require = createRequire(join(folder, "node_modules", "joust", "package.json"));
  const arrow = await import(pathToFileURL(require.resolve("apache-arrow")).href);
  const { Field, FixedSizeList, Float32, makeBuilder, Table, tableFromIPC, tableToIPC } =
    arrow.default ?? arrow;
  const type = new FixedSizeList(2, new Field("item", new Float32(), true));
  const vectors = makeBuilder({ type, nullValues: [null] });
  for (const [x, y] of [
    [0, 0],
    [1, 0],
    [5, 5],
  ]) {
    vectors.append([x, y]);
  }
  const rows = tableToIPC(new Table({ vector: vectors.finish().toVector() }), "stream");
  const stream = { "content-type": "application/vnd.apache.arrow.stream" };
  await post(`${url}/v1/table/points/create`, rows, stream);
  const json = { "content-type": "application/json" };
  const body = { vector: { single_vector: [4, 4] }, k: 1 };
  const response = await post(`${url}/v1/table/points/query`, JSON.stringify(body), json);
  const [nearest] = tableFromIPC(new Uint8Array(await response.arrayBuffer())).toArray();
  const vector = [...nearest.vector];
  if (vector.join() !== "5,5") throw new Error(`the row nearest to 4,4 is ${vector}, not 5,5`);
  console.log("created and queried a table");
}

function post(url, body, headers) {
  const authorization = `Bearer ${KEY}`;
  return request(url, { method: "POST", body, headers: { authorization, ...headers } });
}

async function request(url, options) {
  const response = await fetch(url, options);
  if (!response.ok) {
    throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  }
  return response;
}

function seconds(since) {
  return ((performance.now() - since) / 1000).toFixed(1);
}
