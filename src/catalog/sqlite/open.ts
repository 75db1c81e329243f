import { Kysely, SqliteDialect } from "kysely";
import type { CatalogDatabase } from "../database.js";
import { migrate } from "../migrations/index.js";
import type { CatalogSchema } from "../schema.js";
import { available } from "../sql-error.js";
import { SqliteConnection } from "./connection.js";
import { GroupCommit } from "./group-commit.js";
import { CurrentReader } from "./reader.js";

/** The catalog in one SQLite file, which other processes on the machine may use at the same time. */
export async function openSqlite(path: string): Promise<CatalogDatabase> {
  const database = new SqliteConnection(path);
  const read = new Kysely<CatalogSchema>({ dialect: new SqliteDialect({ database }) });
  try {
    await migrate(read, "sqlite");
    database.opened();
    const reader = new CurrentReader(path);
    const writes = new GroupCommit(read, reader.expire);
    return {
      kind: "sqlite",
      read,
      reader,
      write: (work) => available(writes.write(work)),
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
