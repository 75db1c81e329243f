/** A table with rows of several tenants, for tests of row filters. */
import { stream, type } from "../../harness/arrow.js";
import type { Answer, Client } from "../../harness/client.js";
import type { TestServer } from "../../harness/setup-server.js";

/** The filter that shows the rows of one tenant. */
export const FILTER = "tenant = 'a'";

/** Rows of the tenants a, b and none in turn. */
export const rowsOf = (ids: readonly number[], tenants?: readonly (string | null)[]) =>
  stream({
    id: [type.i32, ids],
    tenant: [type.text, ids.map((id, at) => (tenants ? tenants[at] : ["a", "b", null][id % 3]))],
    secret: [type.text, ids.map((id) => (id % 3 === 0 ? `${id}` : `word${id}`))],
    vector: [type.vector(2), ids.map((id) => [id, 0])],
  });

export const path = (table: string, call: string) =>
  `/v1/table/${encodeURIComponent(table)}/${call}`;

let number = 0;
/** A new table of 12 rows in the namespace `f`. */
export async function tenantTable(joust: TestServer): Promise<string> {
  number += 1;
  const name = `f$t${number}`;
  await joust.client.createTable(name, rowsOf([...Array(12).keys()]));
  return name;
}

export const column = (found: Awaited<ReturnType<Client["query"]>>, name: string): number[] =>
  [...(found.getChild(name) ?? [])].map(Number).sort((a, b) => a - b);

export const ids = async (client: Client, name: string, body: object = {}): Promise<number[]> => {
  const found = await client.query(name, { k: 100, columns: { column_names: ["id"] }, ...body });
  return column(found, "id");
};

export const sql = (client: Client, query: string): Promise<Answer> =>
  client.request("/v1/sql", { body: { query }, headers: { accept: "application/json" } });
