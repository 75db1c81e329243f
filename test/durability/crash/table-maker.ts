import { emptyStream, random } from "../../harness/arrow.js";
import type { Client } from "../../harness/client.js";
import { isGone, rowTypes } from "./row-writer.js";

/** The expected state of a table name: it exists, it does not, or a request got no response. */
export type Known = "there" | "gone" | "unknown";

/** Creates and drops tables in the root and in a namespace until the server has ended. */
export async function makeTables(
  client: Client,
  tables: Map<string, Known>,
  seed: number,
  stopped: () => boolean,
): Promise<void> {
  const next = random(seed);
  while (!stopped()) {
    const name = `t${Math.floor(next() * 20)}`;
    const id = next() < 0.5 ? name : `space$${name}`;
    const path = `/v1/table/${encodeURIComponent(id)}`;
    const known = tables.get(id) ?? "gone";
    tables.set(id, "unknown");
    try {
      if (known === "there") {
        await client.ok(`${path}/drop`);
        tables.set(id, "gone");
      } else {
        await client.ok(`${path}/create`, emptyStream(rowTypes), { mode: "exist_ok" });
        tables.set(id, "there");
      }
    } catch (error) {
      if (stopped() || isGone(error)) return;
      throw error;
    }
  }
}
