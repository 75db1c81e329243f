import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tableFromArrays, tableToIPC } from "apache-arrow";
import { root } from "../../build/paths.mjs";
import { command } from "../command.mjs";
import { junitCounts, noTests, withExitCode, withSomeTest } from "../counts.mjs";
import { pythonWith, VENV } from "./python.mjs";
import { withServer } from "./server.mjs";

const FOLDER = "test/clients/schemathesis";
const ENVIRONMENT = `${VENV}-schemathesis`;
const SEED = process.env.JOUST_TEST_SEED ?? "20260726";
/** The time budget of a run. */
const SECONDS = process.env.JOUST_TEST_SCHEMATHESIS_SECONDS ?? "120";

/**
 * Sends the requests that schemathesis generates from the OpenAPI document of a server, and checks the replies against
 * the document. The count is that of the operations. The output has a curl command for each failure.
 */
export async function schemathesisClients() {
  const python = pythonWith(`${FOLDER}/requirements.txt`, ENVIRONMENT);
  if (python === undefined) {
    console.log("skipped: schemathesis; no python3 with the venv module is installed");
    return { schemathesis: { ...noTests, skipped: 1 } };
  }
  console.log(`schemathesis: JOUST_TEST_SEED=${SEED}, ${SECONDS} seconds`);
  const scratch = mkdtempSync(join(tmpdir(), "joust-schemathesis-"));
  try {
    return { schemathesis: await withServer((server) => run(python, server, scratch)) };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function run(python, { JOUST_URL: url, JOUST_KEY: key }, scratch) {
  const rows = makeRows();
  await createObjects(url, key, rows);
  const rowsFile = join(scratch, "rows.arrow");
  writeFileSync(rowsFile, rows);
  const report = join(scratch, "junit.xml");
  const args = [
    ...["-m", "schemathesis.cli", "--config-file", join(root, FOLDER, "schemathesis.toml")],
    ...["run", `${url}/openapi.json`, "--header", `Authorization: Bearer ${key}`],
    ...["--seed", SEED, "--max-time", SECONDS, "--no-color"],
    ...["--report", "junit", "--report-junit-path", report],
  ];
  const env = {
    JOUST_ROWS: rowsFile,
    PYTHONPATH: join(root, FOLDER),
    PYTHONDONTWRITEBYTECODE: "1",
  };
  const code = await command(python, args, { env });
  return withSomeTest(withExitCode(junitCounts(readReport(report)), code));
}

/** Rows with the columns that the fixture's indexes need. */
function makeRows() {
  const ids = Array.from({ length: 300 }, (_, row) => row);
  const table = tableFromArrays({
    id: BigInt64Array.from(ids, BigInt),
    name: ids.map((id) => `item ${id}`),
    price: Float64Array.from(ids, (id) => id / 2),
  });
  return tableToIPC(table, "stream");
}

async function createObjects(url, key, rows) {
  const post = async (path, body) => {
    const arrow = body instanceof Uint8Array;
    const response = await fetch(`${url}/v1/${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": arrow ? "application/vnd.apache.arrow.stream" : "application/json",
      },
      body: arrow ? body : JSON.stringify(body),
    });
    if (response.ok) return;
    throw new Error(`POST ${path} returned ${response.status}: ${await response.text()}`);
  };
  for (const namespace of ["ns", "spare"]) await post(`namespace/${namespace}/create`, {});
  for (const table of ["t", "spare"]) await post(`table/ns$${table}/create`, rows);
  await post("table/ns$t/create_scalar_index", { column: "id", index_type: "BTREE" });
  await post("table/ns$t/tags/create", { tag: "first", version: 1 });
  await post("table/ns$t/branches/create", { name: "dev" });
  await post("materialized_view/ns$v/create", { query: "SELECT id FROM t", with_no_data: true });
}

function readReport(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
