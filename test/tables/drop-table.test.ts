import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import { expectFailure } from "../harness/failure.js";
import { useServer } from "../harness/use-server.js";

const serving = useServer();

describe("drop table", () => {
  it("removes the name and the files", async () => {
    const { client } = serving;
    const made = await client.createTable("gone", items(3), { properties: '{"a":"1"}' });
    const reply = await client.post("/v1/table/gone/drop");
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({ id: ["gone"], location: made.location, properties: { a: "1" } });
    expect(existsSync(made.location)).toBe(false);
    for (const operation of ["describe", "exists", "drop", "count_rows", "stats"]) {
      expectFailure(await client.post(`/v1/table/gone/${operation}`), 404, 4, /gone/);
    }
  });

  it("frees the name at once", async () => {
    const { client } = serving;
    for (let round = 1; round <= 5; round++) {
      await client.createTable("again", items(round));
      expect(await client.count("again")).toBe(round);
      await client.ok("/v1/table/again/drop", {});
    }
  });

  it("works in a namespace and tells what is missing", async () => {
    const { client } = serving;
    await client.createNamespace("ns");
    await client.createTable("ns$t", items(1));
    expect((await client.ok("/v1/table/ns$t/drop")).id).toEqual(["ns", "t"]);
    expectFailure(await client.post("/v1/table/ns$t/drop"), 404, 4);
    expectFailure(await client.post("/v1/table/nowhere$t/drop"), 404, 1);
  });

  it("refuses a body for another table", async () => {
    const { client } = serving;
    await client.createTable("safe", items(1));
    expectFailure(await client.post("/v1/table/safe/drop", { id: ["other"] }), 400, 13, /id/);
    expect(await client.count("safe")).toBe(1);
  });
});
