/**
 * Creates `data-<version>.tar.gz`, a data directory written by the built version, for
 * `data-directory.test.ts`. Run it once for each release, before the version is increased:
 *
 *     npm run build && node test/durability/upgrade/make-data-directory.mjs
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  Field,
  FixedSizeList,
  Float32,
  Int64,
  tableFromArrays,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import { post as postTo, startServer } from "../../../build/demo/server.js";
import { root as checkout } from "../../../scripts/build/paths.mjs";

const { version } = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8"));
const data = mkdtempSync(join(tmpdir(), "joust-upgrade-"));
const server = await startServer(data);
const post = (path, body) => postTo(server, `/v1/${path}`, body);

async function until(what, condition) {
  for (let attempt = 0; attempt < 600; attempt++) {
    if (await condition()) return;
    await sleep(100);
  }
  throw new Error(`${what}: not within a minute`);
}

const texts = (values) => vectorFromArray(values, new Utf8());

/** Rows `from` to `from + count`: id, text, group and a vector. */
function rows(from, count) {
  const ids = Array.from({ length: count }, (_, at) => from + at);
  const vector = new FixedSizeList(4, new Field("item", new Float32(), true));
  const table = tableFromArrays({
    id: vectorFromArray(ids.map(BigInt), new Int64()),
    text: texts(ids.map((id) => `document ${id} about ${["lions", "tigers", "bears"][id % 3]}`)),
    group: texts(ids.map((id) => `g${id % 4}`)),
    vector: vectorFromArray(
      ids.map((id) => [id % 7, id % 11, id % 13, 1]),
      vector,
    ),
  });
  return tableToIPC(table, "stream");
}

try {
  await post("namespace/animals/create", { properties: { owner: "zoo" } });
  await post("table/animals$docs/create", rows(0, 300));
  const index = (column, index_type, more = {}) =>
    post("table/animals$docs/create_index", { column, index_type, ...more });
  await index("text", "FTS");
  await index("vector", "IVF_FLAT", { distance_type: "l2" });
  await index("id", "BTREE");
  await until("the indexes are built", async () => {
    const { indexes } = await post("table/animals$docs/index/list");
    return indexes.length === 3 && indexes.every(({ status }) => status === "Ready");
  });
  await post("table/animals$docs/tags/create", { tag: "indexed", version: 4 });
  await post("table/animals$docs/insert", rows(300, 20));
  await post("table/animals$docs/delete", { predicate: "id < 10" });
  await post("table/animals$docs/update", {
    predicate: "id = 10",
    updates: [["text", "'document 10 about zebras'"]],
  });
  await post("table/animals$docs/add_columns", {
    new_columns: [{ name: "double", expression: "id * 2" }],
  });
  await post("table/animals$docs/branches/create", { name: "draft" });
  await post("table/plain/create", rows(0, 5));
  await post("materialized_view/by_group/create", {
    query: 'SELECT "group", count(*) AS rows FROM animals.docs GROUP BY "group"',
  });
  await post("materialized_view/by_group/refresh");
  await until("the view is filled", async () => (await post("table/by_group/count_rows")) === 4);
} finally {
  await server.stop();
}
const archive = join(checkout, "test", "upgrade", `data-${version}.tar.gz`);
execFileSync("tar", ["--owner=0", "--group=0", "-czf", archive, "-C", data, "."]);
rmSync(data, { recursive: true });
console.log(archive);
