import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type HoldingProxy, startHoldingProxy } from "../harness/holding-proxy.js";
import { type S3, s3Missing, startS3 } from "../harness/s3.js";
import { type Server, startServer } from "../harness/server.js";
import { removeDir, tempDir } from "../harness/temp.js";
import { newKey, state, tenRows, writes } from "./sending.js";

describe.skipIf(s3Missing)("a commit whose answer the store loses", () => {
  let s3: S3;
  let proxy: HoldingProxy;
  let server: Server;
  let directory: string;

  beforeAll(async () => {
    s3 = await startS3();
    proxy = await startHoldingProxy(s3.endpoint);
    const env = { ...s3.env, AWS_ENDPOINT: proxy.url };
    directory = tempDir("catalog");
    const args = ["--catalog", `${directory}/catalog.db`];
    server = await startServer({ root: s3.createBucket(), env, args });
  });
  afterAll(async () => {
    await server?.stop();
    await proxy?.stop();
    await s3?.stop();
    removeDir(directory);
  });

  const cases = writes.flatMap((write, index) =>
    [true, false].map((withKey) => ({ ...write, withKey, table: `t${index}-${withKey}` })),
  );
  it.each(cases)("$name (key: $withKey) is found out about, and made once", async (write) => {
    const { client } = server;
    await tenRows(client, write.table);
    const before = proxy.lost();
    proxy.loseAnswer(
      (method, path) => method === "PUT" && path.includes(`${write.table}.lance/_versions/`),
    );
    const answer = await client.request(write.path(write.table), {
      body: write.body(),
      ...(write.params && { params: write.params }),
      headers: write.withKey ? { "idempotency-key": newKey() } : {},
    });
    expect(proxy.lost()).toBe(before + 1);
    expect(answer.status, answer.text).toBe(200);
    expect(answer.json.version).toBe(2);
    expect(await state(client, write.table)).toEqual(write.after);
    const { versions } = await client.ok(`/v1/table/${write.table}/version/list`, {});
    expect(versions).toHaveLength(2);
  });
});
