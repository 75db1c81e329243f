import { describe, expect, it } from "vitest";
import { listIndexes } from "../../../harness/indexes.js";
import { s3Missing } from "../../../harness/s3.js";
import { setupBucketServer } from "../../../harness/setup-bucket-server.js";
import { waitFor } from "../../../harness/wait-for.js";
import { rows, search, textIndex, words } from "./text-tables.js";

if (s3Missing) console.log(`skipped: text indexes on S3; ${s3Missing}`);

describe.skipIf(s3Missing)("text indexes in a bucket", () => {
  const joust = setupBucketServer();

  const some = (from: number, count: number) =>
    rows(
      Array.from({ length: count }, (_, n) => ({
        id: from + n,
        title: `word${(from + n) % 10} number ${from + n}`,
        body: null,
      })),
    );

  it("can be built, searched and maintained, also after a server restart", async () => {
    await joust.server.client.createTable("t", some(0, 50));
    await textIndex(joust.server.client, "t", { column: "title", with_position: true });
    const all = { ...words("word3"), k: 1_000 };
    const expected = (count: number) =>
      Array.from({ length: count }, (_, n) => n).filter((id) => id % 10 === 3);
    const result = async () => (await search(joust.server.client, "t", all)).sort((a, b) => a - b);
    expect(await result()).toEqual(expected(50));
    const at = (await joust.server.client.ok("/v1/table/t/describe")).version;

    await joust.server.client.insert("t", some(50, 400));
    expect(await result()).toEqual(expected(450));
    await waitFor(
      "the new rows are in a segment",
      async () => {
        const [index] = await listIndexes(joust.server.client, "t");
        return index?.num_unindexed_rows === 0 && index.num_indexed_rows === 450;
      },
      { timeoutMs: 60_000 },
    );
    expect(await result()).toEqual(expected(450));

    await joust.server.client.ok("/v1/table/t/delete", { predicate: "id < 20" });
    await joust.restart();
    expect(await result()).toEqual(expected(450).filter((id) => id >= 20));
    const then = await search(joust.server.client, "t", { ...all, version: at });
    expect(then.sort((a, b) => a - b)).toEqual(expected(50));
    const phrase = await search(joust.server.client, "t", words('"number 447"'));
    expect(phrase).toEqual([447]);
  });
});
