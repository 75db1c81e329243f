import { afterAll, beforeAll, onTestFinished } from "vitest";
import type { Client } from "./client.js";
import { type Server, type ServerOptions, startServer } from "./server.js";

/** The server of a test file; usable in hooks and tests only. */
export interface TestServer {
  readonly server: Server;
  /** A client with the admin key. */
  readonly client: Client;
  readonly root: string;
}

/** Starts one server for all tests of a file. */
export function setupServer(options: ServerOptions = {}): TestServer {
  let server: Server | undefined;
  beforeAll(async () => {
    server = await startServer(options);
  });
  afterAll(async () => {
    await server?.stop();
  });
  const running = (): Server => {
    if (server === undefined) throw new Error("the server runs in hooks and tests only");
    return server;
  };
  return {
    get server() {
      return running();
    },
    get client() {
      return running().client;
    },
    get root() {
      return running().root;
    },
  };
}

/** Starts a server that stops when the running test ends. */
export async function startServerForTest(options: ServerOptions = {}): Promise<Server> {
  const server = await startServer(options);
  onTestFinished(async () => {
    await server.stop();
  });
  return server;
}
