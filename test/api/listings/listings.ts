import { items } from "../../harness/arrow.js";
import type { Client, Json } from "../../harness/client.js";
import { waitForIndex } from "../../harness/indexes.js";
import { byBytes, type Listing, permanentNames, temporaryName } from "./listing.js";

async function each<T>(
  names: readonly string[],
  make: (name: string) => Promise<T>,
): Promise<void> {
  for (const name of names) await make(name);
}

const namespaces: Listing = {
  name: "namespaces",
  path: "/v1/namespace/parent/list",
  items: (reply) => reply.namespaces,
  async prepare(client) {
    await client.createNamespace("parent");
    await each(permanentNames, (name) => client.createNamespace(`parent$${name}`));
    return permanentNames;
  },
  async add(client, number) {
    const id = `parent$${temporaryName(number)}`;
    await client.createNamespace(id, { mode: "exist_ok" });
    return () => client.post(`/v1/namespace/${id}/drop`);
  },
  before: byBytes,
};

/** Declared tables are the cheapest to create and remove, and are listed like all others. */
const tables: Listing = {
  name: "tables",
  path: "/v1/namespace/tables/table/list",
  items: (reply) => reply.tables,
  async prepare(client) {
    await client.createNamespace("tables");
    await each(permanentNames, (name) => client.ok(`/v1/table/tables$${name}/declare`));
    return permanentNames;
  },
  async add(client, number) {
    const id = `tables$${temporaryName(number)}`;
    await client.post(`/v1/table/${id}/declare`);
    return () => client.post(`/v1/table/${id}/deregister`);
  },
  before: byBytes,
};

const allTables: Listing = {
  name: "all tables",
  path: "/v1/table",
  items: (reply) => reply.tables,
  async prepare(client) {
    await each(["one", "two", "two$deep"], (name) => client.createNamespace(`all-${name}`));
    const ids = ["all-one", "all-two", "all-two$deep"].flatMap((parent) =>
      permanentNames.slice(0, 3).map((name) => `${parent}$${name}`),
    );
    await each(ids, (id) => client.ok(`/v1/table/${id}/declare`));
    return ids;
  },
  async add(client, number) {
    const parent = ["all-one", "all-two", "all-two$deep"][number % 3];
    const id = `${parent}$${temporaryName(number)}`;
    await client.post(`/v1/table/${id}/declare`);
    return () => client.post(`/v1/table/${id}/deregister`);
  },
  // By namespace, then name.
  before: (a, b) => {
    const [one, other] = [a, b].map((id) => [id.split("$").slice(0, -1).join("$"), id] as const);
    return byBytes(one?.[0] ?? "", other?.[0] ?? "") || (one?.[0] === other?.[0] && byBytes(a, b));
  },
};

const versionsOf = (id: string, descending: boolean): Listing => ({
  name: descending ? "versions, newest first" : "versions",
  path: `/v1/table/${id}/version/list`,
  body: { descending },
  items: (reply) => reply.versions.map((one: Json) => String(one.version)),
  async prepare(client) {
    await client.createTable(id, items(1));
    // Tagged versions cannot be deleted.
    for (let version = 2; version <= 9; version++) await client.insert(id, items(1));
    for (let version = 1; version <= 9; version += 2) {
      await client.ok(`/v1/table/${id}/tags/create`, { tag: `v${version}`, version });
    }
    return ["1", "3", "5", "7", "9"];
  },
  async add(client, number) {
    const { version } = await client.insert(id, items(1));
    const doomed = number % 2 === 0 ? 2 * (1 + (number % 4)) : version;
    const ranges = [{ start_version: doomed, end_version: doomed + 1 }];
    return () => client.post(`/v1/table/${id}/version/delete`, { ranges });
  },
  before: (a, b) => (descending ? Number(a) > Number(b) : Number(a) < Number(b)),
});

const tags: Listing = {
  name: "tags",
  path: "/v1/table/tagged/tags/list",
  items: (reply) => Object.keys(reply.tags),
  async prepare(client) {
    await client.createTable("tagged", items(1));
    await each(permanentNames, (tag) =>
      client.ok("/v1/table/tagged/tags/create", { tag, version: 1 }),
    );
    return permanentNames;
  },
  async add(client, number) {
    const tag = temporaryName(number);
    await client.post("/v1/table/tagged/tags/create", { tag, version: 1 });
    return () => client.post("/v1/table/tagged/tags/delete", { tag });
  },
  before: byBytes,
};

const branches: Listing = {
  name: "branches",
  path: "/v1/table/branched/branches/list",
  items: (reply) => Object.keys(reply.branches),
  async prepare(client) {
    await client.createTable("branched", items(1));
    await each(permanentNames, (name) => client.ok("/v1/table/branched/branches/create", { name }));
    return permanentNames;
  },
  async add(client, number) {
    const name = temporaryName(number);
    await client.post("/v1/table/branched/branches/create", { name });
    return () => client.post("/v1/table/branched/branches/delete", { name });
  },
  before: byBytes,
};

const buildIndex = (client: Client, id: string, name: string): Promise<Json> =>
  client.ok(`/v1/table/${id}/create_scalar_index`, { column: "id", index_type: "BTREE", name });

const indexes: Listing = {
  name: "indexes",
  path: "/v1/table/indexed/index/list",
  items: (reply) => reply.indexes.map((one: Json) => one.index_name),
  async prepare(client) {
    await client.createTable("indexed", items(1));
    for (const name of permanentNames) await buildIndex(client, "indexed", name);
    for (const name of permanentNames) await waitForIndex(client, "indexed", name);
    return permanentNames;
  },
  async add(client, number) {
    const name = temporaryName(number);
    await buildIndex(client, "indexed", name).catch(() => undefined);
    return () => client.post(`/v1/table/indexed/index/${name}/drop`);
  },
  before: byBytes,
};

const jobsListed = new Map<string, number>();

const jobs: Listing = {
  name: "jobs, newest first",
  path: "/v1/jobs/list",
  items: (reply) =>
    reply.jobs.map((job: Json) => {
      jobsListed.set(job.job_id, job.created_at_millis);
      return job.job_id;
    }),
  async prepare(client) {
    await client.createTable("worked", items(1));
    const ids: string[] = [];
    for (const name of permanentNames) {
      ids.push((await buildIndex(client, "worked", name)).transaction_id);
      await waitForIndex(client, "worked", name);
    }
    return ids;
  },
  async add(client, number) {
    const name = temporaryName(number);
    await buildIndex(client, "worked", name).catch(() => undefined);
    // A drop of an index that is being built removes its job too.
    return () => client.post(`/v1/table/worked/index/${name}/drop`);
  },
  before: (a, b) => {
    const [one, other] = [jobsListed.get(a) ?? 0, jobsListed.get(b) ?? 0];
    return one > other || (one === other && a > b);
  },
};

/** The materialized views among the tables of a namespace. */
const views: Listing = {
  name: "views",
  path: "/v1/namespace/views/materialized_view/list",
  items: (reply) => reply.views,
  async prepare(client) {
    await client.createNamespace("views");
    await client.createNamespace("read");
    await client.createTable("read$t", items(1));
    await each(permanentNames, (name) => view(client, name));
    return permanentNames;
  },
  async add(client, number) {
    const name = temporaryName(number);
    await view(client, name);
    return () => client.post(`/v1/materialized_view/views$${name}/drop`);
  },
  before: byBytes,
};

const view = (client: Client, name: string): Promise<unknown> =>
  client.ok(`/v1/materialized_view/views$${name}/create`, {
    query: "SELECT id FROM read.t",
    with_no_data: true,
  });

export const listings: readonly Listing[] = [
  namespaces,
  tables,
  allTables,
  versionsOf("versioned", false),
  versionsOf("reversed", true),
  tags,
  branches,
  indexes,
  jobs,
  views,
];
