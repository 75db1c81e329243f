import { join } from "node:path";
import { expect } from "vitest";
import { items, stream, type } from "../../harness/arrow.js";
import type { Client } from "../../harness/client.js";
import { listIndexes, waitForIndex } from "../../harness/indexes.js";
import { waitForJobResult } from "../../harness/jobs.js";

/** An operation and the observable state before and after it. Any other state is a partial change. */
export interface CrashingOperation {
  readonly name: string;
  /** Creates the objects of the operation besides the table `t` of rows 0 to 99 in two fragments. */
  prepare?(client: Client): Promise<unknown>;
  /** Resolves after the response and, if the operation starts a job, after the job. */
  act(client: Client, root: string): Promise<unknown>;
  /** An observation of the state: one value before the operation, another one after it. */
  state(client: Client): Promise<unknown>;
  /** The operation continues without the client after a restart: an acknowledged job. */
  readonly resumes?: true;
}

const path = (id: string) => `/v1/table/${encodeURIComponent(id)}`;
const exists = async (client: Client, id: string) =>
  (await client.post(`${path(id)}/exists`)).status < 300;
const count = (id: string) => (client: Client) => client.count(id);

/** Row count of a table that may be missing. */
const rowsIfThere = (id: string) => async (client: Client) =>
  (await exists(client, id)) ? client.count(id) : "no table";

/** The rows of a clone that may be missing, and how many tags its source has. */
async function cloneState(client: Client) {
  const { tags } = await client.ok(`${path("t")}/tags/list`);
  return [await rowsIfThere("new")(client), Object.keys(tags).length];
}

/** Whether a branch is listed, and its rows. */
async function branchState(client: Client) {
  const { branches } = await client.ok(`${path("t")}/branches/list`);
  const reply = await client.post(`${path("t")}/count_rows`, { branch: "made" });
  return [Object.keys(branches), reply.status === 200 ? reply.json : reply.json.code];
}

async function uploaded(client: Client): Promise<string> {
  const { upload_id } = await client.ok(`${path("t")}/multipart_write/create`);
  for (const from of [1_000, 2_000, 3_000]) {
    await client.insert("t", items(20, { from }), { upload_id });
  }
  return upload_id;
}

const index = (name: string, body: object, kind = "create_index"): CrashingOperation => ({
  name,
  resumes: true,
  async act(client) {
    const reply = await client.post(`${path("t")}/${kind}`, { ...body, name: "made" });
    // The index exists or is being built.
    if (reply.status !== 409) expect(reply.status).toBeLessThan(300);
    await waitForIndex(client, "t", "made");
  },
  async state(client) {
    const result = await listIndexes(client, "t");
    return result.map((one) => [one.status, one.num_indexed_rows, one.num_unindexed_rows]);
  },
});

export const operations: readonly CrashingOperation[] = [
  {
    name: "create a table",
    act: (client) => client.createTable("new", items(50)),
    state: rowsIfThere("new"),
  },
  {
    name: "replace a table",
    act: (client) => client.createTable("t", items(7), { mode: "overwrite" }),
    state: count("t"),
  },
  {
    name: "drop a table",
    act: (client) => client.ok(`${path("t")}/drop`),
    state: rowsIfThere("t"),
  },
  {
    name: "rename a table",
    act: (client) => client.ok(`${path("t")}/rename`, { new_table_name: "new" }),
    state: async (client) => [await rowsIfThere("t")(client), await rowsIfThere("new")(client)],
  },
  {
    name: "register a table",
    prepare: (client) => client.ok(`${path("t")}/deregister`),
    act: (client, root) =>
      client.ok(`${path("new")}/register`, { location: join(root, "t.lance") }),
    state: rowsIfThere("new"),
  },
  {
    name: "clone a table",
    act: (client, root) =>
      client.ok(`${path("new")}/clone`, { source_location: join(root, "t.lance") }),
    state: cloneState,
  },
  {
    name: "copy a table",
    act: (client, root) => {
      const source_location = join(root, "t.lance");
      return client.ok(`${path("new")}/clone`, { source_location, is_shallow: false });
    },
    state: rowsIfThere("new"),
  },
  {
    name: "drop a clone",
    prepare: async (client) => {
      const { location } = await client.ok(`${path("t")}/describe`);
      await client.ok(`${path("new")}/clone`, { source_location: location });
    },
    act: (client) => client.ok(`${path("new")}/drop`),
    state: cloneState,
  },
  {
    name: "insert rows",
    act: (client) => client.insert("t", items(30, { from: 500 })),
    state: count("t"),
  },
  {
    name: "update rows",
    act: (client) => client.ok(`${path("t")}/update`, { updates: [["name", "'new'"]] }),
    state: (client) => client.count("t", { predicate: "name = 'new'" }),
  },
  {
    name: "delete rows",
    act: (client) => client.ok(`${path("t")}/delete`, { predicate: "id < 70" }),
    state: count("t"),
  },
  {
    name: "merge rows",
    act: (client) =>
      client.ok(`${path("t")}/merge_insert`, items(60, { from: 80 }), {
        on: "id",
        when_not_matched_insert_all: "true",
      }),
    state: count("t"),
  },
  {
    name: "complete a multipart write",
    async act(client) {
      const upload_id = await uploaded(client);
      await client.ok(`${path("t")}/multipart_write/complete`, undefined, { upload_id });
    },
    state: count("t"),
  },
  {
    name: "add a column",
    act: (client) =>
      client.ok(`${path("t")}/add_columns`, {
        new_columns: [{ name: "double", expression: "price * 2" }],
      }),
    async state(client) {
      const { schema } = await client.ok(`${path("t")}/describe`);
      return schema.fields.length;
    },
  },
  {
    name: "tag a version",
    act: (client) => client.ok(`${path("t")}/tags/create`, { tag: "first", version: 1 }),
    state: async (client) =>
      Object.keys((await client.ok(`${path("t")}/tags/list`)).tags ?? {}).length,
  },
  {
    name: "create a branch",
    act: (client) => client.ok(`${path("t")}/branches/create`, { name: "made", from_version: 1 }),
    state: branchState,
  },
  {
    name: "delete a branch",
    async prepare(client) {
      await client.ok(`${path("t")}/branches/create`, { name: "made" });
      await client.insert("t", items(10, { from: 200 }), { branch: "made" });
    },
    act: (client) => client.ok(`${path("t")}/branches/delete`, { name: "made" }),
    state: branchState,
  },
  {
    name: "create a namespace",
    act: (client) => client.createNamespace("space"),
    state: async (client) => (await client.post("/v1/namespace/space/exists")).status,
  },
  index("build a scalar index", { column: "id", index_type: "BTREE" }, "create_scalar_index"),
  index("build a text index", { column: "name", index_type: "FTS" }),
  index("build a vector index", { column: "vector", index_type: "IVF_FLAT", num_partitions: 2 }),
  {
    name: "compact a table",
    resumes: true,
    async act(client) {
      await waitForJobResult(client, (await client.ok(`${path("t")}/compact`, {})).job_id);
    },
    state: async (client) => (await client.ok(`${path("t")}/stats`)).fragment_stats.num_fragments,
  },
  {
    name: "create and fill a view",
    resumes: true,
    async act(client) {
      const body = { query: "SELECT id, name FROM t WHERE id < 40" };
      let reply = await client.post("/v1/materialized_view/new/create", body);
      if (reply.status === 409) reply = await client.post("/v1/materialized_view/new/refresh", {});
      await waitForJobResult(client, reply.json.job_id);
    },
    state: rowsIfThere("new"),
  },
  {
    name: "refresh a view",
    resumes: true,
    async prepare(client) {
      const body = { query: "SELECT id, name FROM t WHERE id < 1000" };
      await waitForJobResult(
        client,
        (await client.ok("/v1/materialized_view/new/create", body)).job_id,
      );
      await client.insert("t", items(10, { from: 200 }));
    },
    async act(client) {
      await waitForJobResult(
        client,
        (await client.ok("/v1/materialized_view/new/refresh", {})).job_id,
      );
    },
    state: count("new"),
  },
];

/** The table that all operations use. */
export async function prepareTable(client: Client): Promise<void> {
  await client.createTable("t", items(60));
  await client.insert("t", items(40, { from: 60 }));
  await client.createTable("other", stream({ n: [type.i32, [1, 2, 3]] }));
}
