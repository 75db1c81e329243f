import { describe, expect, it } from "vitest";
import { emptyStream, items, type } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();

const joined = (...parts: Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts));
const marker = new Uint8Array([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);

/** More than the server accepts as one buffer. */
const long = items(40_000, { dimension: 32 });

describe("data after the end of an Arrow stream", () => {
  it.each<[string, Uint8Array]>([
    ["another stream", joined(items(3), items(2, { from: 3 }))],
    ["another stream after a long one", joined(long, items(2))],
    ["a long stream", joined(items(2), long)],
    ["a second end marker", joined(items(3), marker)],
    ["a single byte", joined(items(3), new Uint8Array([0]))],
    ["rows after a stream without rows", joined(emptyStream({ id: type.i64 }), items(1))],
  ])("is rejected and no row is written: %s", async (what, body) => {
    const { client } = joust;
    const id = `after ${what}`.replaceAll(/\W/g, "_");
    await client.createTable(id, items(1, { dimension: body.length > 1e6 ? 32 : 8 }));
    const refusal = /end-of-stream/;
    const path = `/v1/table/${id}`;
    expectFailure(await client.post(`${path}/insert`, body), 400, 13, refusal);
    expectFailure(await client.post(`${path}/insert`, body, { mode: "overwrite" }), 400, 13);
    const merge = { on: "id", when_not_matched_insert_all: "true" };
    expectFailure(await client.post(`${path}/merge_insert`, body, merge), 400, 13, refusal);
    expectFailure(await client.post(`${path}_new/create`, body), 400, 13, refusal);
    expect(await client.count(id)).toBe(1);
    expectFailure(await client.post(`${path}_new/describe`), 404, 4);
  });

  it("is rejected in a chunked upload, wherever the chunks end", async () => {
    const { client, server } = joust;
    await client.createTable("chunked", items(1));
    const body = joined(items(3), items(2, { from: 3 }));
    const first = items(3).length;
    for (const cut of [first - 8, first - 3, first, first + 1]) {
      const chunks = [body.slice(0, cut), body.slice(cut)];
      const sent = new ReadableStream<Uint8Array>({
        async pull(controller) {
          const chunk = chunks.shift();
          if (chunk === undefined) return controller.close();
          controller.enqueue(chunk);
          await new Promise((resolve) => setTimeout(resolve, 30));
        },
      });
      const answer = await fetch(`${server.url}/v1/table/chunked/insert`, {
        method: "POST",
        headers: { authorization: `Bearer ${server.key}` },
        body: sent,
        duplex: "half",
      } as RequestInit);
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ code: 13 });
    }
    expect(await client.count("chunked")).toBe(1);
  });

  it("may be absent, and the end marker is optional", async () => {
    const { client } = joust;
    await client.createTable("ends", items(1));
    await client.insert("ends", items(2));
    await client.insert("ends", items(2).slice(0, -8));
    expect(await client.count("ends")).toBe(5);
  });
});
