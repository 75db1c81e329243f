import { type Connection, connect } from "@lancedb/lancedb";
import { afterAll, beforeAll } from "vitest";
import { type Server, startServer } from "../../harness/server.js";

export interface TestDatabase {
  readonly database: Connection;
  /** The served directory. */
  readonly root: string;
  /** Opens a further connection to the same server, with the same key or another one. */
  connect(apiKey?: string): Promise<Connection>;
}

/** Starts one server for a test file and connects to it, for use in tests. */
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
