import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import { type Postgres, postgresMissing, startPostgres } from "../harness/postgres.js";
import { type S3, s3Missing, startS3 } from "../harness/s3.js";
import { type Server, startServer } from "../harness/server.js";

const missing = s3Missing ?? postgresMissing;
if (missing) console.log(`skipped: tests of two servers; ${missing}`);

describe.skipIf(missing)("two servers of one bucket", () => {
  let s3: S3;
  let postgres: Postgres;
  let first: Server;
  let other: Server;

  beforeAll(async () => {
    [s3, postgres] = await Promise.all([startS3(), startPostgres()]);
    const root = `${s3.createBucket()}/tables`;
    const catalog = ["--catalog", postgres.createDatabase()];
    first = await startServer({ root, env: s3.env, args: catalog });
    other = await startServer({ root, key: first.key, env: s3.env, args: catalog });
    await first.client.createTable("t", items(1));
  });
  afterAll(async () => {
    await other?.stop();
    await first?.stop();
    await Promise.all([s3?.stop(), postgres?.stop()]);
  });

  it("accept parts of the same multipart write", async () => {
    const upload = "/v1/table/t/multipart_write";
    const { upload_id } = await first.client.ok(`${upload}/create`);
    for (const [n, server] of [first, other, first, other].entries()) {
      await server.client.ok("/v1/table/t/insert/", items(2, { from: 100 + n * 2 }), { upload_id });
    }
    const done = await other.client.post(`${upload}/complete`, undefined, { upload_id });
    const again = await first.client.post(`${upload}/complete`, undefined, { upload_id });
    expect([done.status, again.json.version]).toEqual([200, done.json.version]);
    expect(await other.client.count("t")).toBe(9);
    expect(await first.client.count("t")).toBe(9);
  });
});
