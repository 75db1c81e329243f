import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { type InterceptingProxy, startInterceptingProxy } from "./intercepting-proxy.js";
import { type S3, startS3 } from "./s3.js";
import { type Server, startServer } from "./server.js";
import { removeDir, tempDir } from "./temp.js";

/** A server on a bucket for all tests of a file; usable in hooks and tests only. */
export interface BucketServer {
  readonly server: Server;
  /** The URI of its root. */
  readonly root: string;
  /** The directory whose files are the objects of the root. */
  readonly directory: string;
  /** The proxy between the server and the store, if it was requested. */
  readonly proxy: InterceptingProxy;
  /** Starts another server on the root with a separate catalog of this name. */
  start(catalog: string, env?: Record<string, string>): Promise<Server>;
  /** Stops the server and starts another one on the same root and catalog; returns the exit code. */
  restart(): Promise<number | null>;
}

/** Starts an S3 store and a server on it. `held`: a proxy between them can hold requests. */
export function setupBucketServer({ held = false } = {}): BucketServer {
  let s3: S3 | undefined;
  let proxy: InterceptingProxy | undefined;
  let server: Server | undefined;
  let root = "";
  let directory = "";
  const env = () => ({ ...s3?.env, ...(proxy && { AWS_ENDPOINT: proxy.url }) });
  // The catalog of a remote root is a local file.
  const start = (catalog: string, more: Record<string, string> = {}) =>
    startServer({
      root,
      env: { ...env(), ...more },
      args: ["--catalog", `${directory}/${catalog}.db`],
      timeoutMs: 60_000,
    });
  beforeAll(async () => {
    s3 = await startS3();
    if (held) proxy = await startInterceptingProxy(s3.endpoint);
    root = `${s3.createBucket()}/tables`;
    directory = tempDir("s3-catalog");
    server = await start("names");
  });
  afterAll(async () => {
    await server?.stop();
    await proxy?.stop();
    await s3?.stop();
    if (directory !== "") removeDir(directory);
  });
  const running = <T>(what: T | undefined): T => {
    if (what === undefined) throw new Error("it runs in hooks and tests only");
    return what;
  };
  return {
    get server() {
      return running(server);
    },
    get root() {
      return root;
    },
    get directory() {
      return join(running(s3).directory, root.replace("s3://", ""));
    },
    get proxy() {
      return running(proxy);
    },
    start,
    async restart() {
      const ended = await running(server).stop();
      server = await start("names");
      return ended;
    },
  };
}
