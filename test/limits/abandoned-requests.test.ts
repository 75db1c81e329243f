import { writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import { createKey } from "../harness/cli.js";
import type { Client } from "../harness/client.js";
import { type Postgres, postgresMissing, startPostgres } from "../harness/postgres.js";
import { type Server, startServer } from "../harness/server.js";
import { head } from "../harness/socket.js";
import { removeDir, tempDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";

const REQUESTS = 5;

/** With Postgres the server looks up the name of a database that does not exist for each request. */
const UNKNOWN = { "x-lancedb-database": "unknown" };

describe.skipIf(postgresMissing).each(["uws", "node"])(
  "requests that end while their database is looked up, with --http %s",
  (http) => {
    const dir = tempDir("abandoned");
    let postgres: Postgres;
    let server: Server;
    let administrator: pg.Client;
    /** Within a transaction Postgres shows no connection that began after the first look. */
    let observer: pg.Client;
    let reader: Client;

    beforeAll(async () => {
      postgres = await startPostgres();
      const catalog = postgres.createDatabase();
      const limits = join(dir, "limits.json");
      writeFileSync(limits, JSON.stringify({ roles: { read: { concurrent_queries: 1 } } }));
      server = await startServer({
        args: ["--catalog", catalog, "--limits", limits, "--http", http],
      });
      reader = server.client.withKey(
        (await createKey(server.root, "read", ["--catalog", catalog])).key,
      );
      administrator = new pg.Client(catalog);
      observer = new pg.Client(catalog);
      await Promise.all([administrator.connect(), observer.connect()]);
      await server.client.createTable("t", items(3));
    });
    afterAll(async () => {
      await Promise.all([administrator?.end(), observer?.end()]);
      await server?.stop();
      await postgres?.stop();
      removeDir(dir);
    });

    const waiting = async () => {
      const query = "select pid from pg_stat_activity where wait_event_type = 'Lock'";
      return (await observer.query(query)).rowCount ?? 0;
    };

    /** Begins requests whose lookup waits, ends them, and then lets the lookups continue. */
    async function abandon(begin: () => Promise<unknown>, end: () => void): Promise<void> {
      await administrator.query("begin; lock table databases");
      const calls = Array.from({ length: REQUESTS }, begin);
      await waitFor("some lookups wait", async () => (await waiting()) > 1);
      end();
      await Promise.allSettled(calls);
      // The server sees that the connections have closed before the lookups end.
      await sleep(200);
      await administrator.query("rollback");
      await waitFor("the lookups end", async () => (await waiting()) === 0);
    }

    it("leave no place of a running query taken", async () => {
      const stop = new AbortController();
      const options = { body: { k: 1, vector: {} }, headers: UNKNOWN, signal: stop.signal };
      await abandon(
        () => reader.request("/v1/table/t/query", options),
        () => stop.abort(),
      );
      await waitFor("a query runs", async () => {
        return (await reader.post("/v1/table/t/count_rows", {})).status === 200;
      });
    });

    it("change nothing, although their bodies were complete", async () => {
      const path = "/v1/table/t/schema_metadata/update";
      await server.client.ok(path, { owner: "me" });
      const { version } = await server.client.ok("/v1/table/t/describe", {});
      const stop = new AbortController();
      const options = { body: { owner: "you" }, headers: UNKNOWN, signal: stop.signal };
      await abandon(
        () => server.client.request(path, options),
        () => stop.abort(),
      );
      // A handler that runs after its lookup commits within this time.
      await sleep(500);
      const after = await server.client.ok("/v1/table/t/describe", {});
      expect([after.schema.metadata, after.version]).toEqual([{ owner: "me" }, version]);
    });

    it("reserve no name of a table", async () => {
      const sockets: Socket[] = [];
      const create = async (): Promise<void> => {
        const socket = connect({ host: "127.0.0.1", port: server.port });
        sockets.push(socket);
        const lines = head(
          `POST /v1/table/new${sockets.length}/create HTTP/1.1`,
          "Host: localhost",
          `Authorization: Bearer ${server.key}`,
          `X-LanceDB-Database: ${UNKNOWN["x-lancedb-database"]}`,
          "Content-Type: application/vnd.apache.arrow.stream",
          "Content-Length: 100000",
        );
        socket.write(`${lines}abc`);
      };
      await abandon(create, () => {
        for (const socket of sockets) socket.destroy();
      });
      await sleep(500);
      for (let at = 1; at <= sockets.length; at++) {
        await server.client.createTable(`new${at}`, items(3));
      }
    });
  },
);
