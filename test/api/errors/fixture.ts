import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { items } from "../../harness/arrow.js";
import type { Client, Json } from "../../harness/client.js";
import type { Server } from "../../harness/server.js";
import { readyIndex } from "../../operations/indexes/waiting.js";

const main = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));

/** Names that only exist once the fixture does; cases are functions of them. */
export interface Fixture {
  /** A transaction that has ended. */
  readonly transaction: string;
  /** A job that has ended. */
  readonly job: string;
  /** A staged manifest of a version that exists with other bytes. */
  readonly staged: string;
  /** Where `ns$t` lies. */
  readonly location: string;
  /** Where a table lies that has no name. */
  readonly unnamed: string;
}

export async function makeFixture({ client, root }: Server): Promise<Fixture> {
  await client.createNamespace("ns");
  await client.createNamespace("empty");
  const { location, transaction_id } = await client.createTable("ns$t", items(20));
  // The same table, which then goes its own way.
  cpSync(location, join(root, "copies", "t"), { recursive: true });
  await client.insert("ns$t", items(20, { from: 20 }));
  const { transaction_id: job } = await client.ok("/v1/table/ns$t/create_scalar_index", {
    column: "id",
    index_type: "BTREE",
  });
  await readyIndex(client, "ns$t", "id_idx");
  await client.ok("/v1/table/ns$t/tags/create", { tag: "first", version: 1 });
  await client.ok("/v1/table/ns$t/branches/create", { name: "dev" });
  await client.ok("/v1/table/ns$d/declare");
  await client.ok("/v1/materialized_view/ns$v/create", {
    query: "SELECT id FROM t",
    with_no_data: true,
  });
  const unnamed = "copies/t";
  await client.ok("/v1/table/ns$copy/register", { location: unnamed });
  await client.insert("ns$copy", items(1));
  const staged = join(location, "_versions", "staged");
  copyFileSync(await manifest(client, "ns$copy", 2), staged);
  await client.ok("/v1/table/ns$copy/deregister");
  return { transaction: transaction_id, job, staged, location, unnamed };
}

async function manifest(client: Client, id: string, version: number): Promise<string> {
  const found: Json = await client.ok(`/v1/table/${id}/version/describe`, { version });
  return `/${found.version.manifest_path.replace(/^\//, "")}`;
}

/** A key of that role, made as an operator makes one. */
export function makeKey(root: string, role: "read" | "write"): string {
  const args = [main, "key", "create", "--name", role, "--role", role, root];
  const out = execFileSync(process.execPath, args, { encoding: "utf8" });
  return /: (joust_\S+)/.exec(out)?.[1] as string;
}
