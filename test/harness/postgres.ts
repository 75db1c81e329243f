import { execFileSync } from "node:child_process";
import { chownSync } from "node:fs";
import { join } from "node:path";
import getPort from "get-port";
import { startProcess } from "./process.js";
import { findProgram, postgresDirectories } from "./programs.js";
import { removeDir, tempDir } from "./temp.js";

const initdb = findProgram("initdb", postgresDirectories());
const postgres = findProgram("postgres", postgresDirectories());

/** Why tests on Postgres cannot run here; undefined when they can. For `describe.skipIf`. */
export const postgresMissing =
  initdb && postgres ? undefined : "no Postgres server programs are installed";

export interface Postgres {
  /** `postgres://...` of a new, empty database. */
  createDatabase(): string;
  stop(): Promise<void>;
}

/** Starts a separate Postgres cluster in a temporary directory, on loopback, without fsync. */
export async function startPostgres(): Promise<Postgres> {
  if (!initdb || !postgres) throw new Error(postgresMissing);
  const directory = tempDir("postgres");
  const data = join(directory, "data");
  const user = unprivilegedUser();
  if (user) chownSync(directory, user.uid, user.gid);
  const port = await getPort({ host: "127.0.0.1" });

  execFileSync(initdb, ["-D", data, "-U", "joust", "-A", "trust", "--no-sync", "-E", "UTF8"], {
    cwd: directory,
    stdio: "ignore",
    ...user,
  });
  const settings = { port, fsync: "off", listen_addresses: "127.0.0.1", max_connections: 200 };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const { process: running } = await startProcess(
    postgres,
    { args: ["-D", data, "-k", directory, ...flags], cwd: directory, ...user },
    (output) => output.includes("ready to accept connections") || undefined,
  );

  const url = (database: string): string => `postgres://joust@127.0.0.1:${port}/${database}`;
  let created = 0;
  return {
    createDatabase() {
      const name = `joust_${++created}`;
      const psql = findProgram("psql", postgresDirectories()) as string;
      execFileSync(psql, ["-q", url("postgres"), "-c", `create database ${name}`]);
      return url(name);
    },
    async stop() {
      // Fast shutdown: open connections are cut.
      await running.stop("SIGINT");
      removeDir(directory);
    },
  };
}

/** Postgres refuses to run as root; its packages create the user `postgres`. */
function unprivilegedUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string): number => Number(execFileSync("id", [flag, "postgres"]).toString());
  return { uid: id("-u"), gid: id("-g") };
}
