import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../harness/eventually.js";
import { type S3, s3Missing, startS3 } from "../harness/s3.js";
import { type Server, startServer } from "../harness/server.js";
import { removeDir, tempDir } from "../harness/temp.js";
import { listIndexes } from "../indexes/waiting.js";
import { rows, search, textIndex, words } from "./texts.js";

if (s3Missing) console.log(`skipped: text indexes on S3; ${s3Missing}`);

describe.skipIf(s3Missing)("text indexes in a bucket", () => {
  let s3: S3;
  let root: string;
  let directory: string;
  let server: Server;
  const start = () =>
    startServer({ root, env: s3.env, args: ["--catalog", `${directory}/names.db`] });

  beforeAll(async () => {
    s3 = await startS3();
    root = `${s3.createBucket()}/tables`;
    directory = tempDir("s3-catalog");
    server = await start();
  });
  afterAll(async () => {
    await server?.stop();
    await s3?.stop();
    removeDir(directory);
  });

  const some = (from: number, count: number) =>
    rows(
      Array.from({ length: count }, (_, n) => ({
        id: from + n,
        title: `word${(from + n) % 10} number ${from + n}`,
        body: null,
      })),
    );

  it("are built, searched, kept current and caught up, also by a server that starts anew", async () => {
    await server.client.createTable("t", some(0, 50));
    await textIndex(server.client, "t", { column: "title", with_position: true });
    const all = { ...words("word3"), k: 1_000 };
    const expected = (count: number) =>
      Array.from({ length: count }, (_, n) => n).filter((id) => id % 10 === 3);
    const found = async () => (await search(server.client, "t", all)).sort((a, b) => a - b);
    expect(await found()).toEqual(expected(50));
    const at = (await server.client.ok("/v1/table/t/describe")).version;

    await server.client.insert("t", some(50, 400));
    expect(await found()).toEqual(expected(450));
    await eventually(
      "the new rows are in a segment",
      async () => {
        const [index] = await listIndexes(server.client, "t");
        return index?.num_unindexed_rows === 0 && index.num_indexed_rows === 450;
      },
      { timeoutMs: 60_000 },
    );
    expect(await found()).toEqual(expected(450));

    await server.client.ok("/v1/table/t/delete", { predicate: "id < 20" });
    await server.stop();
    server = await start();
    expect(await found()).toEqual(expected(450).filter((id) => id >= 20));
    const then = await search(server.client, "t", { ...all, version: at });
    expect(then.sort((a, b) => a - b)).toEqual(expected(50));
    const phrase = await search(server.client, "t", words('"number 447"'));
    expect(phrase).toEqual([447]);
  });
});
