/** `fastify-lancedb.mjs ROOT DISTANCE`: a typical service around the LanceDB SDK. */
import * as lancedb from "@lancedb/lancedb";
import { tableFromIPC } from "apache-arrow";
import Fastify from "fastify";

const [root, distance] = process.argv.slice(2);
const database = await lancedb.connect(root);
const reranker = await lancedb.rerankers.RRFReranker.create();
const tables = new Map();
const app = Fastify({ bodyLimit: 2 ** 31 });

/** Opens each table once, as the SDK recommends. */
async function open(name) {
  if (!tables.has(name)) tables.set(name, await database.openTable(name));
  return tables.get(name);
}

/** Rows with numbers instead of bigints, which JSON cannot represent. */
const plain = (rows) =>
  rows.map((row) => {
    const entries = Object.entries(row);
    return Object.fromEntries(
      entries.map(([name, value]) => [name, typeof value === "bigint" ? Number(value) : value]),
    );
  });

app.addContentTypeParser(
  "application/vnd.apache.arrow.stream",
  { parseAs: "buffer" },
  (_request, body, done) => done(null, tableFromIPC(body)),
);

app.post("/:table/search", async ({ params, body }) => {
  const table = await open(params.table);
  let query = table.query();
  const [first, ...others] = body.vectors ?? [];
  if (first) {
    query = query.nearestTo(first).column("vector").distanceType(distance);
    for (const other of others) query = query.addQueryVector(other);
    if (body.nprobes) query = query.nprobes(body.nprobes);
    if (body.refine) query = query.refineFactor(body.refine);
    if (body.ef) query = query.ef(body.ef);
    if (body.flat) query = query.bypassVectorIndex();
  }
  if (body.text) query = query.fullTextSearch(body.text, { columns: ["text"] });
  if (first && body.text) query = query.rerank(reranker);
  if (body.filter) query = query.where(body.filter);
  return plain(await query.select(body.columns).limit(body.k).toArray());
});

app.post("/:table/rows", async ({ params, body }) => {
  const table = await open(params.table);
  let query = table.query();
  if (body.filter) query = query.where(body.filter);
  if (body.columns) query = query.select(body.columns);
  if (body.limit) query = query.limit(body.limit);
  return plain(await query.toArray());
});

app.post("/:table/count", async ({ params, body }) => {
  const table = await open(params.table);
  return { count: await table.countRows(body.filter) };
});

app.post("/:table/describe", async ({ params }) => {
  const table = await open(params.table);
  const schema = await table.schema();
  const fields = schema.fields.map(({ name, type }) => ({ name, type: String(type) }));
  return { name: params.table, version: await table.version(), fields };
});

app.post("/:table/insert", async ({ params, body }) => {
  const table = await open(params.table);
  return table.add(body);
});

app.post("/:table/create", async ({ params, body }) => {
  tables.set(params.table, await database.createTable(params.table, body, { mode: "overwrite" }));
  return {};
});

console.log(`listening on ${await app.listen({ host: "127.0.0.1", port: 0 })}`);
