import { copyFileSync, cpSync } from "node:fs";
import { join } from "node:path";
import { items } from "../../harness/arrow.js";
import type { Client, Json } from "../../harness/client.js";
import { waitForIndex } from "../../harness/indexes.js";
import type { Server } from "../../harness/server.js";

/** Names that are known only after the fixture exists; cases are functions of them. */
export interface Fixture {
  /** A transaction that has ended. */
  readonly transaction: string;
  /** A job that has ended. */
  readonly job: string;
  /** A staged manifest whose version exists with other content. */
  readonly staged: string;
  /** The location of `ns$t`. */
  readonly location: string;
  /** The location of a table without a name. */
  readonly unnamed: string;
}

export async function makeFixture({ client, root }: Server): Promise<Fixture> {
  await client.createNamespace("ns");
  await client.createNamespace("empty");
  const { location, transaction_id } = await client.createTable("ns$t", items(20));
  // A copy of the table that diverges below.
  cpSync(location, join(root, "copies", "t"), { recursive: true });
  await client.insert("ns$t", items(20, { from: 20 }));
  const { transaction_id: job } = await client.ok("/v1/table/ns$t/create_scalar_index", {
    column: "id",
    index_type: "BTREE",
  });
  await waitForIndex(client, "ns$t", "id_idx");
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
  const result: Json = await client.ok(`/v1/table/${id}/version/describe`, { version });
  return `/${result.version.manifest_path.replace(/^\//, "")}`;
}
