import { randomBytes } from "node:crypto";
import type { CatalogDatabase } from "./database.js";
import { available } from "./sql-error.js";

const BYTES = 32;

/**
 * The catalog's secret of that name: random bytes that whoever asks first makes, and that all its servers
 * know from then on.
 */
export async function secret(db: CatalogDatabase, name: string): Promise<Buffer> {
  const find = db.read.selectFrom("secrets").select("value").where("name", "=", name);
  let row = await available(find.executeTakeFirst());
  if (!row) {
    const value = randomBytes(BYTES).toString("hex");
    await db.write((t) =>
      t
        .insertInto("secrets")
        .values({ name, value })
        // Of servers that start at the same time the first one's counts.
        .onConflict((c) => c.doNothing())
        .execute(),
    );
    row = await available(find.executeTakeFirstOrThrow());
  }
  return Buffer.from(row.value, "hex");
}
