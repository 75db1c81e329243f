import { type Connection, connect } from "@lancedb/lancedb";
import { afterAll, beforeAll } from "vitest";
import { type Server, startServer } from "../../harness/server.js";

export interface TestDatabase {
  readonly database: Connection;
  /** The directory that is served. */
  readonly root: string;
  /** A further connection to the same server, with its own key or another. */
  connect(apiKey?: string): Promise<Connection>;
}

/** One server for a test file and a remote connection to it, there once the tests run. */
export function setupDatabase(): TestDatabase {
  let server: Server | undefined;
  let database: Connection | undefined;
  const open = (apiKey?: string) => {
    if (!server) throw new Error("the server is there once the tests run");
    return connect("db://joust", { apiKey: apiKey ?? server.key, hostOverride: server.url });
  };
  beforeAll(async () => {
    server = await startServer();
    database = await open();
  });
  afterAll(async () => {
    database?.close();
    await server?.stop();
  });
  return {
    get database() {
      if (!database) throw new Error("the database is there once the tests run");
      return database;
    },
    get root() {
      if (!server) throw new Error("the server is there once the tests run");
      return server.root;
    },
    connect: open,
  };
}
