import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tableFromIPC } from "apache-arrow";
import { type Row, readCorpus } from "./corpus.js";
import { HashedWords } from "./embedding.js";
import { buildIndexes } from "./indexing.js";
import { type DemoServer, post, startServer } from "./server.js";
import { arrowStream } from "./table.js";

const TABLE = "demo$packages";
/** Product quantization (PQ) trains on at least this many vectors. */
const MIN_ROWS_FOR_PQ = 256;

/**
 * Starts a server on a free port, loads sample text, builds indexes and runs queries. `stay`: the server
 * runs until a signal, so that the user can run the printed curl commands.
 */
export async function demo({ stay }: { stay: boolean }): Promise<void> {
  // Registered first, so that the server never outlives the demo.
  const signalled = new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.once(signal, () => resolve());
    }
  });
  const directory = mkdtempSync(join(tmpdir(), "joust-demo-"));
  try {
    const server = await startServer(join(directory, "data"));
    try {
      const finished = runDemo(server, directory).then(() => {
        if (!stay) return;
        console.log("\nThe server runs until Ctrl-C.");
        return signalled;
      });
      await Promise.race([finished, signalled]);
    } finally {
      await server.stop();
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function runDemo(server: DemoServer, directory: string): Promise<void> {
  console.log(`joust listens on ${server.url}\n`);

  const rows = readCorpus();
  const words = new HashedWords(rows.map(searchText));
  const vectors = rows.map((row) => words.embed(searchText(row)));
  console.log(`1. Insert ${rows.length} texts of the installed packages into the table ${TABLE}`);
  await post(server, "/v1/namespace/demo/create", { properties: { from: "joust demo" } });
  const started = performance.now();
  const { version } = await post(server, `/v1/table/${TABLE}/create`, arrowStream(rows, vectors));
  console.log(`  version ${version} after ${Math.round(performance.now() - started)} ms`);

  console.log("\n2. Build a vector index and two scalar indexes");
  const vectorIndex = rows.length < MIN_ROWS_FOR_PQ ? "IVF_FLAT" : "IVF_PQ";
  await buildIndexes(server, TABLE, [
    { column: "vector", index_type: vectorIndex, distance_type: "cosine", name: "by_vector" },
    { column: "words", index_type: "BTREE", name: "by_words" },
    { column: "kind", index_type: "BITMAP", name: "by_kind" },
  ]);

  const near = (text: string) => ({ single_vector: [...words.embed(text)] });
  const columns = { column_names: ["package", "title", "text"] };
  const vectorQuery = {
    vector: near("a PostgreSQL client"),
    k: 5,
    nprobes: 20,
    refine_factor: 10,
    columns,
  };
  const filteredQuery = {
    vector: { single_vector: [] },
    k: 5,
    filter: "kind = 'markdown' AND words > 180",
    columns,
  };
  const mixedQuery = {
    ...vectorQuery,
    vector: near("json web tokens"),
    filter: "kind = 'markdown' AND words > 40",
    prefilter: true,
  };
  await printQuery(server, '3. Texts nearest to "a PostgreSQL client"', vectorQuery);
  await printQuery(server, `4. Rows where ${filteredQuery.filter}`, filteredQuery);
  await printQuery(
    server,
    `5. Texts nearest to "json web tokens" where ${mixedQuery.filter}`,
    mixedQuery,
  );
  printCommands(server, directory, vectorQuery);
}

const searchText = ({ title, text }: Row): string => `${title} ${text}`;

async function printQuery(server: DemoServer, headline: string, query: object): Promise<void> {
  const started = performance.now();
  const result = tableFromIPC(await post(server, `/v1/table/${TABLE}/query`, query));
  console.log(`\n${headline} (${(performance.now() - started).toFixed(1)} ms)`);
  for (const { _distance, package: name, title, text } of result.toArray()) {
    const distance = _distance === undefined ? "" : `${_distance.toFixed(3)}  `;
    const label = title === name ? name : `${name}: ${title}`;
    console.log(`  ${distance}${label.slice(0, 40).padEnd(40)}  ${text.slice(0, 70)}`);
  }
}

function printCommands({ url, key }: DemoServer, directory: string, query: object): void {
  const body = join(directory, "query.json");
  writeFileSync(body, JSON.stringify(query));
  const curl = (path: string, data: string) =>
    `curl -H "Authorization: Bearer ${key}" -H "Content-Type: application/json" \\\n    -d ${data} ${url}${path}`;
  const table = "/v1/table/demo%24packages";
  console.log(`\nThe same requests with curl (a query returns an Arrow IPC file):
  ${curl(`${table}/describe`, "'{}'")}
  ${curl(`${table}/count_rows`, `'{"predicate": "words > 100"}'`)}
  ${curl(`${table}/query`, `@${body} -o result.arrow`)}`);
}
