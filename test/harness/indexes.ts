import type { Client, Json } from "./client.js";
import { waitFor } from "./wait-for.js";

/** The entries of a table's index listing. */
export async function listIndexes(client: Client, id: string): Promise<Json[]> {
  return (await client.ok(`/v1/table/${encodeURIComponent(id)}/index/list`, {})).indexes;
}

/** Waits until the listing shows the index as ready. Throws at once if the build failed. */
export async function waitForIndex(client: Client, id: string, name: string): Promise<Json> {
  let failed: Json;
  const entry = await waitFor(
    `index ${name} is ready`,
    async () => {
      const result = (await listIndexes(client, id)).find((index) => index.index_name === name);
      if (result?.status === "Failed") {
        failed = result;
        return true;
      }
      return result?.status === "Ready" && result;
    },
    { timeoutMs: 60_000 },
  );
  if (failed) throw new Error(`the build of ${name} failed: ${failed.index_details}`);
  return entry;
}

/** Builds one index of each kind on a table of `items` and waits for them. */
export async function buildEachKind(client: Client, id: string): Promise<void> {
  for (const [column, index_type] of [
    ["vector", "IVF_PQ"],
    ["id", "BTREE"],
    ["category", "BITMAP"],
    ["name", "FTS"],
  ] as const) {
    const path = `/v1/table/${encodeURIComponent(id)}/create_index`;
    await client.ok(path, { column, index_type });
    await waitForIndex(client, id, `${column}_idx`);
  }
}
