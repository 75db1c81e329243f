import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { emptyStream, random } from "../../harness/arrow.js";
import { startServer } from "../../harness/server.js";
import { removeDir, tempDir } from "../../harness/temp.js";
import { checkCatalog, checkIndex, checkRows } from "./checks.js";
import { type Batch, rowTypes, writeRows } from "./row-writer.js";
import { type Known, makeTables } from "./table-maker.js";

/** `npm run test:crash` sets hundreds; a few kills check in every run that the test itself works. */
const kills = Number(process.env.JOUST_TEST_KILLS ?? 4);
const seed = Number(process.env.JOUST_TEST_SEED ?? Date.now() % 2 ** 31);
const writers = 8;

test(`${kills} kills lose no acknowledged write and leave no partial write (seed ${seed})`, {
  timeout: 30_000 + kills * 20_000,
}, async () => {
  const next = random(seed);
  const root = tempDir("crash");
  onTestFinished(() => removeDir(root));
  const batches: Batch[] = [];
  const tables = new Map<string, Known>();

  for (let round = 0; round <= kills; round++) {
    const server = await startServer({ root });
    try {
      if (round === 0) {
        await server.client.createNamespace("space");
        await server.client.createTable("rows", emptyStream(rowTypes));
        const index = { column: "batch", index_type: "BTREE", name: "by_batch" };
        await server.client.ok("/v1/table/rows/create_scalar_index", index);
      } else {
        await checkRows(server, batches);
        await checkIndex(server, batches);
        await checkCatalog(server, tables);
      }
      if (round === kills) continue;
      let killed = false;
      const stopped = () => killed;
      const work = [
        ...Array.from({ length: writers }, (_, writer) =>
          writeRows(server.client, batches, seed + round * writers + writer, stopped),
        ),
        makeTables(server.client, tables, seed ^ round, stopped),
      ];
      await sleep(50 + next() * 900);
      killed = true;
      await server.kill();
      await Promise.all(work);
    } finally {
      await server.kill();
    }
  }
  const acknowledged = batches.filter((batch) => batch.answered).length;
  expect(acknowledged, "batches that were acknowledged").toBeGreaterThan(kills);
  console.log(`${kills} kills, ${acknowledged} of ${batches.length} batches acknowledged`);
});
