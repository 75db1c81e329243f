import type { Write } from "../database/database.js";
import type { ApiKeysRow } from "../database/schema.js";

/** How to replace a key. */
export interface KeyRotation {
  /** SHA-256 of the new key. */
  readonly hash: Buffer;
  /** How long the former keys of the id stay valid, ms. */
  readonly overlapMs: number;
  /** How long the new key is valid, ms. Undefined: as long as the former key was, without an end if that had none. */
  readonly lifetimeMs?: number | undefined;
}

/**
 * Replaces the key of an id. Every former key of the id expires after the overlap at the latest. Returns the new row;
 * undefined if there is no such id.
 */
export async function rotateKey(
  t: Write,
  id: string,
  { hash, overlapMs, lifetimeMs }: KeyRotation,
): Promise<ApiKeysRow | undefined> {
  const row = await t.selectFrom("api_keys").selectAll().where("id", "=", id).executeTakeFirst();
  if (row === undefined) return undefined;
  const now = Date.now();
  const end = now + overlapMs;
  await t.deleteFrom("former_api_keys").where("expires_at", "<=", now).execute();
  await t
    .updateTable("former_api_keys")
    .set({ expires_at: end })
    .where("key_id", "=", id)
    .where("expires_at", ">", end)
    .execute();
  const formerEnd = Math.min(end, row.expires_at ?? end);
  if (formerEnd > now) {
    const former = { hash: row.hash, key_id: id, expires_at: formerEnd };
    await t.insertInto("former_api_keys").values(former).execute();
  }
  const renewed: ApiKeysRow = {
    ...row,
    hash: hash.toString("hex"),
    issued_at: now,
    expires_at: newEnd(row, now, lifetimeMs),
  };
  await t
    .updateTable("api_keys")
    .set({ hash: renewed.hash, issued_at: now, expires_at: renewed.expires_at })
    .where("id", "=", id)
    .execute();
  return renewed;
}

function newEnd(row: ApiKeysRow, now: number, lifetimeMs: number | undefined): number | null {
  if (lifetimeMs !== undefined) return now + lifetimeMs;
  if (row.expires_at === null) return null;
  return now + row.expires_at - (row.issued_at ?? row.created_at);
}
