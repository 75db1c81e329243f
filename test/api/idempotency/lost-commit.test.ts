import { describe, expect, it } from "vitest";
import { s3Missing } from "../../harness/s3.js";
import { setupBucketServer } from "../../harness/setup-bucket-server.js";
import { createTenRows, newKey, rowsAndSum, writes } from "./keyed-writes.js";

describe.skipIf(s3Missing)("a commit whose response from the object store is lost", () => {
  const joust = setupBucketServer({ held: true });

  const cases = writes.flatMap((write, index) =>
    [true, false].map((withKey) => ({ ...write, withKey, table: `t${index}-${withKey}` })),
  );
  it.each(cases)("is found and applied once: $name (key: $withKey)", async (write) => {
    const { proxy } = joust;
    const { client } = joust.server;
    await createTenRows(client, write.table);
    const before = proxy.droppedResponses();
    proxy.dropResponse(
      (method, path) => method === "PUT" && path.includes(`${write.table}.lance/_versions/`),
    );
    const answer = await client.request(write.path(write.table), {
      body: write.body(),
      ...(write.params && { params: write.params }),
      headers: write.withKey ? { "idempotency-key": newKey() } : {},
    });
    expect(proxy.droppedResponses()).toBe(before + 1);
    expect(answer.status, answer.text).toBe(200);
    expect(answer.json.version).toBe(2);
    expect(await rowsAndSum(client, write.table)).toEqual(write.after);
    const { versions } = await client.ok(`/v1/table/${write.table}/version/list`, {});
    expect(versions).toHaveLength(2);
  });
});
