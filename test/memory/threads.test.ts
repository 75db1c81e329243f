import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { items } from "../harness/arrow.js";
import { startServer } from "../harness/server.js";

/** Tables with concurrent reads and writes. */
const TABLES = 24;
const ROUNDS = 4;

/** Names of a process's threads. */
const threads = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/task`).map((id) =>
    readFileSync(`/proc/${pid}/task/${id}/comm`, "utf8").trim(),
  );

test.skipIf(process.platform !== "linux")(
  "the number of engine threads stays small under many concurrent requests",
  async () => {
    const server = await startServer();
    onTestFinished(async () => {
      await server.stop();
    });
    const { client } = server;
    const tables = Array.from({ length: TABLES }, (_, table) => `t${table}`);
    await Promise.all(tables.map((table) => client.createTable(table, items(100))));
    for (let round = 0; round < ROUNDS; round++) {
      const work = tables.flatMap((table) => [
        client.insert(table, items(100)),
        client.query(table, { k: 10, vector: {}, filter: `id = ${round}` }),
        client.ok(`/v1/table/${table}/stats`),
      ]);
      await Promise.all(work);
    }
    const own = threads(server.pid).filter((name) => name === "joust-engine");
    const cores = availableParallelism();
    expect(own.length).toBeGreaterThan(0);
    expect(own.length).toBeLessThanOrEqual(cores + Math.max(16, 4 * cores));
  },
);
