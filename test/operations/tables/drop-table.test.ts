import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();

describe("drop table", () => {
  it("removes the name and the files", async () => {
    const { client } = joust;
    const made = await client.createTable("gone", items(3), { properties: '{"a":"1"}' });
    const reply = await client.post("/v1/table/gone/drop");
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({
      transaction_id: expect.any(String),
      id: ["gone"],
      location: made.location,
      properties: { a: "1" },
    });
    expect(existsSync(made.location)).toBe(false);
    for (const operation of ["describe", "exists", "drop", "count_rows", "stats"]) {
      expectFailure(await client.post(`/v1/table/gone/${operation}`), 404, 4, /gone/);
    }
  });

  it("makes the name available at once", async () => {
    const { client } = joust;
    for (let round = 1; round <= 5; round++) {
      await client.createTable("again", items(round));
      expect(await client.count("again")).toBe(round);
      await client.ok("/v1/table/again/drop", {});
    }
  });

  it("works in a namespace and returns 404 for a missing table", async () => {
    const { client } = joust;
    await client.createNamespace("ns");
    await client.createTable("ns$t", items(1));
    expect((await client.ok("/v1/table/ns$t/drop")).id).toEqual(["ns", "t"]);
    expectFailure(await client.post("/v1/table/ns$t/drop"), 404, 4);
    expectFailure(await client.post("/v1/table/nowhere$t/drop"), 404, 1);
  });

  it("rejects a body with another table id", async () => {
    const { client } = joust;
    await client.createTable("safe", items(1));
    expectFailure(await client.post("/v1/table/safe/drop", { id: ["other"] }), 400, 13, /id/);
    expect(await client.count("safe")).toBe(1);
  });

  it.each([
    ["an append", "/v1/table/busy/insert"],
    ["an overwrite", "/v1/table/busy/insert?mode=overwrite"],
    ["a create that overwrites", "/v1/table/busy/create?mode=overwrite"],
  ])("ends %s in progress, and nothing of it reappears", async (_, path) => {
    const { client, server } = joust;
    const { location } = await client.createTable("busy", items(10));
    const rows = items(100_000);
    let upload!: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        upload = controller;
      },
    });
    const sent = fetch(`${server.url}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${server.key}` },
      body,
      duplex: "half",
    } as RequestInit);
    upload.enqueue(rows.slice(0, rows.length - 1000));
    // Usually long enough for the upload to be in progress; otherwise the result is the same.
    await sleep(300);
    expect((await client.post("/v1/table/busy/drop")).status).toBe(200);
    expect(existsSync(location)).toBe(false);
    upload.enqueue(rows.slice(rows.length - 1000));
    upload.close();
    const reply = await sent;
    expect(reply.status).toBe(404);
    expect(await reply.json()).toMatchObject({ code: 4 });
    expect(existsSync(location)).toBe(false);
    expectFailure(await client.post("/v1/table/busy/exists"), 404, 4);
  });
});
