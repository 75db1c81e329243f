import fc from "fast-check";
import { expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { setupServer } from "../../harness/setup-server.js";
import { change, expectedRows, Replica, step } from "./change-replica.js";

const joust = setupServer();

it("lets a replica follow any sequence of changes", async () => {
  const { client } = joust;
  let tables = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 15 }), async (steps) => {
      const table = `t${tables++}`;
      await client.createTable(table, items(5));
      const replica = new Replica(client, table);
      for (const [at, step] of steps.entries()) {
        if (step.do === "read") await replica.read();
        else await change(client, table, step, 5 + 4 * at);
      }
      await replica.read();
      expect([...replica.rows].sort()).toEqual(await expectedRows(client, table));
    }),
    { numRuns: 25 },
  );
}, 180_000);
