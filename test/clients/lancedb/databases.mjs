/**
 * Lends LanceDB's test suites databases. Each is a joust server of its own, because a local LanceDB
 * database is a directory of its own. A returned server is emptied and lent again.
 *
 * `POST /lend {owner, name}` answers `{url, key}`: the same server for the same owner and name.
 * `POST /return {owner}` gives back what that owner has.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

const KEY = `joust_${"suite".repeat(8)}`;
const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };

/** Starts the service on a port of the system's choice. `main` is the server's program. */
export async function startDatabases(main) {
  const idle = [];
  const all = new Set();
  const lent = new Map();
  // One at a time: a test connects before its next call.
  let turn = Promise.resolve();
  const inTurn = (work) => {
    const result = turn.then(work);
    turn = result.catch(() => {});
    return result;
  };

  const lend = async ({ owner, name }) => {
    const databases = lent.get(owner) ?? new Map();
    lent.set(owner, databases);
    let server = databases.get(name);
    if (server === undefined) {
      server = idle.pop() ?? (await start(main));
      all.add(server);
      databases.set(name, server);
    }
    return { url: server.url, key: KEY };
  };

  const giveBack = async ({ owner }) => {
    const databases = lent.get(owner);
    lent.delete(owner);
    for (const server of databases?.values() ?? []) {
      if (await empty(server)) idle.push(server);
      else {
        all.delete(server);
        await server.stop();
      }
    }
    return {};
  };

  const routes = { "/lend": lend, "/return": giveBack };
  const service = createServer(async (request, response) => {
    try {
      const body = JSON.parse(Buffer.concat(await request.toArray()).toString() || "{}");
      const route = routes[request.url];
      if (route === undefined) throw new Error(`no route ${request.url}`);
      response.end(JSON.stringify(await inTurn(() => route(body))));
    } catch (error) {
      response.statusCode = 500;
      response.end(String(error.message));
    }
  });
  await new Promise((resolve) => service.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${service.address().port}`,
    async stop() {
      service.closeAllConnections();
      service.close();
      await Promise.all([...all].map((server) => server.stop()));
    },
  };
}

/** A joust server on an empty root. */
async function start(main) {
  const root = mkdtempSync(join(tmpdir(), "joust-suite-"));
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("JOUST_"));
  const child = spawn(
    process.execPath,
    [main, "serve", root, "--port", "0", "--memory", "1GiB", "--durability", "os"],
    {
      env: { ...Object.fromEntries(inherited), JOUST_API_KEY: KEY },
      stdio: ["ignore", "pipe", process.env.JOUST_SUITE_LOG ? "inherit" : "ignore"],
    },
  );
  const exited = new Promise((resolve) => child.once("exit", resolve));
  const stop = async () => {
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), 20_000);
    await exited;
    clearTimeout(timer);
    rmSync(root, { recursive: true, force: true });
  };
  const url = await new Promise((resolve, reject) => {
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
      const ready = /joust listening on (http:\/\/\S+)/.exec(output);
      if (ready) resolve(ready[1]);
    });
    exited.then((code) => reject(new Error(`the server ended with ${code}\n${output}`)));
  });
  return { url, stop };
}

/** Drops all tables and namespaces; false when the server cannot be lent again. */
async function empty({ url }) {
  const call = async (method, path, body) => {
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const response = await fetch(`${url}${path}`, init);
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    const text = await response.text();
    return text === "" ? {} : JSON.parse(text);
  };
  try {
    const { tables } = await call("GET", "/v1/namespace/$/table/list?limit=1000");
    for (const table of tables) {
      await call("POST", `/v1/table/${encodeURIComponent(table)}/drop`, {});
    }
    const { namespaces } = await call("GET", "/v1/namespace/$/list?limit=1000");
    for (const namespace of namespaces) {
      const path = `/v1/namespace/${encodeURIComponent(namespace)}/drop`;
      await call("POST", path, { behavior: "Cascade" });
    }
    return true;
  } catch (error) {
    console.error(`a database could not be emptied: ${error.message}`);
    return false;
  }
}
