/**
 * `fastify-pgvector.mjs BINARIES FOLDER DISTANCE [UID:GID]`: a typical service around Postgres with pgvector.
 * UID:GID is the user of the Postgres process.
 */
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { tableFromIPC } from "apache-arrow";
import Fastify from "fastify";
import pg from "pg";

const [binaries, folder, distance, user] = process.argv.slice(2);
const [uid, gid] = user?.split(":").map(Number) ?? [];
const [operators, operator] = {
  cosine: ["vector_cosine_ops", "<=>"],
  l2: ["vector_l2_ops", "<->"],
  dot: ["vector_ip_ops", "<#>"],
}[distance];
const WORDS = "to_tsvector('english', text)";
const COLUMNS = ["id", "label", "number", "text", "vector"];
/** Rows of one INSERT statement. */
const BATCH = 2000;

const settings = ["listen_addresses=", "shared_buffers=1GB", "maintenance_work_mem=1GB"];
const postgres = spawn(
  join(binaries, "postgres"),
  ["-D", join(folder, "data"), "-k", folder, ...settings.flatMap((one) => ["-c", one])],
  { cwd: folder, stdio: "ignore", ...(uid === undefined ? {} : { uid, gid }) },
);
const pool = new pg.Pool({
  host: folder,
  user: "bench",
  database: "postgres",
  max: 2 * availableParallelism(),
});
pool.on("error", () => {});
// Returns 64-bit integers as numbers for JSON.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

async function ready() {
  for (;;) {
    try {
      return await pool.query("CREATE EXTENSION IF NOT EXISTS vector");
    } catch {
      await sleep(20);
    }
  }
}

/** `bench` and `bench_graph` have the same rows: one table serves as both. */
const name = (table) => (table === "bench_graph" ? "bench" : table.replaceAll(/\W/g, ""));
const literal = (vector) => `[${vector.join(",")}]`;

/** Applies the settings to one transaction. */
async function withSettings(wanted, work) {
  const client = await pool.connect();
  try {
    await client.query(`BEGIN; ${wanted.map((one) => `SET LOCAL ${one};`).join(" ")}`);
    const result = await work(client);
    await client.query("COMMIT");
    return result;
  } finally {
    client.release();
  }
}

function nearest(client, table, { columns, filter, k }, vector) {
  const where = filter ? `WHERE ${filter}` : "";
  const text = `SELECT ${columns} FROM ${table} ${where} ORDER BY vector ${operator} $1::vector LIMIT ${k}`;
  return client.query({ text, values: [literal(vector)] });
}

async function search(table, body) {
  const graph = [`hnsw.ef_search=${body.ef ?? 40}`, "hnsw.iterative_scan=strict_order"];
  const wanted = body.flat ? ["enable_indexscan=off"] : graph;
  return withSettings(wanted, async (client) => {
    const rows = [];
    for (const vector of body.vectors) {
      rows.push(...(await nearest(client, table, body, vector)).rows);
    }
    return rows;
  });
}

/** Rows with any of the words, best first. */
async function searchText(table, { text, columns, k }) {
  const statement = `SELECT ${columns} FROM ${table}, websearch_to_tsquery('english', $1) AS words
    WHERE ${WORDS} @@ words ORDER BY ts_rank(${WORDS}, words) DESC LIMIT ${k}`;
  return (await pool.query(statement, [text.split(" ").join(" or ")])).rows;
}

async function add(table, rows) {
  const columns = COLUMNS.map((column) => rows.getChild(column));
  for (let at = 0; at < rows.numRows; at += BATCH) {
    const size = Math.min(BATCH, rows.numRows - at);
    const [ids, labels, numbers, texts, vectors] = columns.map((column) =>
      Array.from({ length: size }, (_, i) => column.get(at + i)),
    );
    await pool.query(
      `INSERT INTO ${table} SELECT * FROM
        unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::vector[])`,
      [ids, labels, numbers, texts, vectors.map((vector) => literal(Array.from(vector)))],
    );
  }
}

async function create(table, rows) {
  const dimensions = rows.getChild("vector").type.listSize;
  await pool.query(`DROP TABLE IF EXISTS ${table}`);
  await pool.query(`CREATE TABLE ${table}
    (id bigint, label text, number bigint, text text, vector vector(${dimensions}))`);
  await add(table, rows);
  // Tables for inserts have no indexes, as with the other contenders.
  if (table !== "bench") return;
  for (const index of [
    `USING hnsw (vector ${operators})`,
    "USING btree (id)",
    "USING btree (label, number)",
    `USING gin (${WORDS})`,
  ]) {
    await pool.query(`CREATE INDEX ON ${table} ${index}`);
  }
  await pool.query(`ANALYZE ${table}`);
}

const app = Fastify({ bodyLimit: 2 ** 31 });
app.addContentTypeParser(
  "application/vnd.apache.arrow.stream",
  { parseAs: "buffer" },
  (_request, body, done) => done(null, tableFromIPC(body)),
);
app.post("/:table/search", ({ params, body }) =>
  body.vectors ? search(name(params.table), body) : searchText(name(params.table), body),
);
app.post("/:table/rows", async ({ params, body: { columns = COLUMNS, filter, limit } }) => {
  const rest = `${filter ? `WHERE ${filter}` : ""} ${limit ? `LIMIT ${limit}` : ""}`;
  return (await pool.query(`SELECT ${columns} FROM ${name(params.table)} ${rest}`)).rows;
});
app.post("/:table/count", async ({ params, body: { filter } }) => {
  const where = filter ? `WHERE ${filter}` : "";
  const { rows } = await pool.query(`SELECT count(*) FROM ${name(params.table)} ${where}`);
  return rows[0];
});
app.post("/:table/describe", async ({ params }) => {
  const { rows } = await pool.query(
    "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0",
    [name(params.table)],
  );
  return { name: params.table, fields: rows };
});
app.post("/:table/insert", async ({ params, body }) => {
  await add(name(params.table), body);
  return {};
});
app.post("/:table/create", async ({ params, body }) => {
  await create(name(params.table), body);
  return {};
});

process.once("SIGTERM", () => {
  // SIGINT is a fast shutdown: it does not wait for clients to disconnect.
  postgres.once("exit", () => process.exit(0));
  postgres.kill("SIGINT");
});
await ready();
console.log(`listening on ${await app.listen({ host: "127.0.0.1", port: 0 })}`);
