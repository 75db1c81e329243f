import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { tableFromIPC } from "apache-arrow";
import { root as checkout } from "../scripts/build/paths.mjs";

export const TABLE = "debian";
const SOURCE = join(checkout, "..", "shared", "data", "debian.arrows");

/** The real table: 63,666 Debian packages with a 256-dimension embedding; undefined where it is absent. */
export function readSource() {
  if (!existsSync(SOURCE)) return undefined;
  const stream = readFileSync(SOURCE);
  return { stream, table: tableFromIPC(stream) };
}

/** Loads the table over HTTP. */
export async function loadTable(server, { stream }) {
  await post(server, TABLE, "create", stream, "application/vnd.apache.arrow.stream");
}

/** Builds the vector index, which takes about a minute on two cores. */
export async function indexTable(server) {
  await post(
    server,
    TABLE,
    "create_index",
    JSON.stringify({ column: "vector", index_type: "IVF_PQ", distance_type: "cosine" }),
  );
  for (;;) {
    const { indexes } = await (await post(server, TABLE, "index/list", "{}")).json();
    if (indexes.some((index) => index.status === "Ready")) return;
    await sleep(250);
  }
}

/** POST to a table; fails for anything but success. */
export async function post(server, table, operation, body, contentType = "application/json") {
  const response = await fetch(`${server.url}/v1/table/${table}/${operation}`, {
    method: "POST",
    headers: { ...server.headers, "content-type": contentType },
    body,
  });
  if (!response.ok)
    throw new Error(`${operation} answered ${response.status}: ${await response.text()}`);
  return response;
}
