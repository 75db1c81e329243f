import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { items, random } from "../harness/arrow.js";
import type { Answer } from "../harness/client.js";
import { setupServer } from "../harness/setup-server.js";
import { waitFor } from "../harness/wait-for.js";

const joust = setupServer();
const seed = Number(process.env.TEST_SEED ?? Date.now() % 1_000_000);
const next = random(seed);
const pick = <T>(choices: readonly T[]): T => choices[Math.floor(next() * choices.length)] as T;

const tables = ["a", "b", "n$a", "n$b"];
const path = (rest: string) => `/v1/table/${pick(tables)}/${rest}`;
const post = (where: string, body?: object | Uint8Array, params?: Record<string, string>) =>
  joust.client.post(where, body, params);

/** One request of each kind on a table that may or may not exist. */
const requests: Record<string, () => Promise<Answer>> = {
  create: () =>
    post(path("create"), items(300), { mode: pick(["create", "exist_ok", "overwrite"]) }),
  insert: () => post(path("insert"), items(100), { mode: pick(["append", "append", "overwrite"]) }),
  delete: () => post(path("delete"), { predicate: `id % 7 = ${Math.floor(next() * 7)}` }),
  drop: () => post(path("drop")),
  rename: () => {
    const target = pick(tables).split("$");
    return post(path("rename"), {
      new_table_name: target.at(-1),
      new_namespace_id: target.slice(0, -1),
    });
  },
  dropNamespace: () => post("/v1/namespace/n/drop", { behavior: "cascade" }),
  createNamespace: () => post("/v1/namespace/n/create", { mode: "exist_ok" }),
  overwriteNamespace: () => post("/v1/namespace/n/create", { mode: "overwrite" }),
  search: () => post(path("query"), { k: 100, vector: { single_vector: Array(8).fill(0.5) } }),
  scan: () => post(path("query"), { k: 2000, vector: {}, filter: "price > 3" }),
  count: () => post(path("count_rows"), { predicate: "id > 3" }),
  describe: () => post(path("describe")),
  exists: () => post(path("exists")),
  stats: () => post(path("stats")),
  list: () => joust.client.get("/v1/table"),
  createIndex: () =>
    post(path("create_index"), {
      ...pick([
        { column: "id", index_type: "BTREE" },
        { column: "vector", index_type: "IVF_FLAT", num_partitions: 2 },
      ]),
      replace: pick([true, false]),
    }),
  listIndexes: () => post(path("index/list")),
  indexStats: () => post(path(`index/${pick(["id_idx", "vector_idx"])}/stats`)),
  dropIndex: () => post(path(`index/${pick(["id_idx", "vector_idx"])}/drop`)),
};

/** Error codes that concurrent changes may cause: the object is missing, exists or is being changed. */
const foreseen = new Set([1, 4, 5, 6, 7, 14]);

it(`concurrent clients get only expected errors (TEST_SEED=${seed})`, {
  timeout: 120_000,
}, async () => {
  const names = Object.keys(requests);
  // Long enough for the clients to overlap and for each kind of request to succeed once.
  const started = Date.now();
  const isOver = () => {
    const passed = Date.now() - started;
    return (passed > 6_000 && succeeded.size === names.length) || passed > 60_000;
  };
  const surprises: string[] = [];
  const succeeded = new Set<string>();
  const client = async (): Promise<void> => {
    while (!isOver()) {
      const name = pick(names);
      const reply = await (requests[name] as () => Promise<Answer>)();
      if (reply.status < 400) succeeded.add(name);
      else if (reply.status >= 500 || !foreseen.has(reply.json.code)) {
        surprises.push(`${name}: ${reply.text}`);
      }
    }
  };
  await Promise.all(Array.from({ length: 10 }, client));
  expect(surprises).toEqual([]);
  expect([...succeeded].sort()).toEqual([...names].sort());

  // Listed tables are complete, and unlisted ones have left no files.
  const left: string[] = (await joust.client.get("/v1/table")).json.tables;
  for (const table of left) {
    const rows = await joust.client.count(table);
    const result = await joust.client.query(table, { k: 1_000_000, vector: {} });
    expect([table, result.numRows]).toEqual([table, rows]);
  }
  await waitFor("the root holds the listed tables only", () => {
    const directories = readdirSync(joust.root).filter((name) => !name.startsWith("."));
    return directories.length === left.length;
  });
});
