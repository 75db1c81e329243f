import { randomBytes } from "node:crypto";
import type { CatalogDatabase } from "./database.js";
import { available } from "./sql-error.js";

const BYTES = 32;

/** Returns the secret of that name: random bytes that the first server makes and all servers of the catalog share. */
export async function secret(db: CatalogDatabase, name: string): Promise<Buffer> {
  const find = db.read.selectFrom("secrets").select("value").where("name", "=", name);
  let row = await available(find.executeTakeFirst());
  if (!row) {
    const value = randomBytes(BYTES).toString("hex");
    await db.write((t) =>
      t
        .insertInto("secrets")
        .values({ name, value })
        // Another server may have made it at the same time: the first one counts.
        .onConflict((c) => c.doNothing())
        .execute(),
    );
    row = await available(find.executeTakeFirstOrThrow());
  }
  return Buffer.from(row.value, "hex");
}
