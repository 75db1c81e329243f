import { Kysely, SqliteDialect } from "kysely";
import type { CatalogDatabase, CatalogReads } from "../database.js";
import { migrate } from "../migrations/index.js";
import type { CatalogSchema } from "../schema.js";
import { available } from "../sql-error.js";
import { SqliteConnection } from "./connection.js";
import { CatalogDialect } from "./dialect.js";
import { GroupCommit } from "./group-commit.js";
import { CurrentReader, type Epoch } from "./reader.js";

/** Opens a reader in another thread of a process that has the catalog open. */
export function openReader(path: string, epoch: Epoch): CatalogReads {
  const reader = new CurrentReader(path, epoch);
  // Only builds SQL text; the reader runs it.
  const read = new Kysely<CatalogSchema>({
    dialect: new SqliteDialect({
      database: () => Promise.reject(new Error("this connection only builds SQL")),
    }),
  });
  return { read, reader };
}

/** Opens the catalog in a SQLite file. Other processes on the machine may use it at the same time. */
export async function openSqlite(path: string, epoch?: Epoch): Promise<CatalogDatabase> {
  const database = new SqliteConnection(path);
  const read = new Kysely<CatalogSchema>({ dialect: new CatalogDialect({ database }) });
  try {
    await migrate(read, "sqlite");
    database.shortenBusyTimeout();
    const reader = new CurrentReader(path, epoch);
    const writes = new GroupCommit(read, reader.expire);
    const write: CatalogDatabase["write"] = (work) => available(writes.write(work));
    return {
      kind: "sqlite",
      read,
      reader,
      write,
      writeWithPriority: write,
      close: async () => {
        reader.close();
        await read.destroy();
      },
    };
  } catch (error) {
    await read.destroy();
    throw error;
  }
}
