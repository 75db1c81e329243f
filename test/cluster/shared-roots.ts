import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe } from "vitest";
import { type Postgres, postgresMissing, startPostgres } from "../harness/postgres.js";
import { type S3, s3Missing, startS3 } from "../harness/s3.js";
import { newKey, type Server, startServer } from "../harness/server.js";
import { removeDir, tempDir } from "../harness/temp.js";

/** A root shared by several servers. */
export interface SharedRoot {
  /** Starts a further server on the root with additional arguments; all servers have the same key. */
  serve(...args: string[]): Promise<Server>;
  /** The arguments and the environment of a command for the root. */
  command(): { args: readonly string[]; env: Record<string, string> };
  /**
   * Resolves when every server must know a change of keys and grants: a second after it with Postgres, at once with SQLite,
   * whose answers are at most a millisecond old.
   */
  accessIsKnown(): Promise<void>;
  /** The entries of a local root; undefined for a bucket. */
  listing(): string[] | undefined;
}

/** A timer may end early. */
async function pass(ms: number): Promise<void> {
  const end = performance.now() + ms;
  while (performance.now() < end) await sleep(end - performance.now());
}

/** Runs the same tests on a directory with a SQLite catalog and on a bucket with a Postgres one. */
export function describeOnSharedRoots(suite: (root: SharedRoot) => void): void {
  const started: Server[] = [];
  const stopAll = () => Promise.all(started.splice(0).map((server) => server.stop()));

  describe("with one directory and a SQLite catalog", () => {
    const key = newKey();
    let directory: string;
    beforeAll(() => {
      directory = tempDir("shared");
    });
    afterAll(async () => {
      await stopAll();
      removeDir(directory);
    });
    suite({
      async serve(...args) {
        const server = await startServer({ root: directory, key, args });
        started.push(server);
        return server;
      },
      command: () => ({ args: [directory], env: {} }),
      accessIsKnown: () => pass(1),
      listing: () => readdirSync(directory),
    });
  });

  describe.skipIf(postgresMissing || s3Missing)("with one bucket and a Postgres catalog", () => {
    const key = newKey();
    let [postgres, s3]: [Postgres | undefined, S3 | undefined] = [undefined, undefined];
    let [bucket, catalog] = ["", ""];
    beforeAll(async () => {
      [postgres, s3] = await Promise.all([startPostgres(), startS3()]);
      [bucket, catalog] = [s3.createBucket(), postgres.createDatabase()];
    });
    afterAll(async () => {
      await stopAll();
      await Promise.all([postgres?.stop(), s3?.stop()]);
    });
    suite({
      async serve(...further) {
        const args = ["--catalog", catalog, ...further];
        const server = await startServer({ root: bucket, key, args, env: { ...s3?.env } });
        started.push(server);
        return server;
      },
      command: () => ({ args: [bucket, "--catalog", catalog], env: { ...s3?.env } }),
      accessIsKnown: () => pass(1_000),
      listing: () => undefined,
    });
  });
}
