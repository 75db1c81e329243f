import { cpSync, existsSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../../harness/arrow.js";
import { expectFailure } from "../../../harness/expect-failure.js";
import { startServer } from "../../../harness/server.js";
import { setupServer } from "../../../harness/setup-server.js";
import { removeDir } from "../../../harness/temp.js";

const joust = setupServer();
const register = (id: string, body: object) => joust.client.post(`/v1/table/${id}/register`, body);
const deregister = (id: string) => joust.client.post(`/v1/table/${id}/deregister`);
const describeTable = (id: string) => joust.client.post(`/v1/table/${id}/describe`);

/** A Lance table in the root without a name. */
async function unnamed(name: string, rows: number): Promise<string> {
  const { location } = await joust.client.createTable(`source-${name}`, items(rows));
  cpSync(location, join(joust.root, "loose", name), { recursive: true });
  return `loose/${name}`;
}

beforeAll(() => joust.client.createNamespace("ns"));

describe("deregister table", () => {
  it("removes the name and excludes the files from adoption", async () => {
    const { client } = joust;
    const { location } = await client.createTable("kept", items(4));
    const answer = await deregister("kept");
    expect(answer.json).toEqual({
      transaction_id: expect.any(String),
      id: ["kept"],
      location,
      properties: {},
    });
    expect(existsSync(location)).toBe(true);
    // Longer than the interval between two scans of the root.
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect((await client.get("/v1/table")).json.tables).not.toContain("kept");
    expectFailure(await describeTable("kept"), 404, 4);
    expectFailure(await deregister("kept"), 404, 4);

    const again = await client.createTable("kept", items(1));
    expect(again.location).not.toBe(location);
    const back = await register("back", { location, properties: { a: "b" } });
    expect(back.json).toMatchObject({ location, properties: { a: "b" } });
    expect(await client.count("back")).toBe(4);
    await client.insert("back", items(1));
    expect(await client.count("back")).toBe(5);
  });

  it("remains in effect after a restart", async () => {
    const server = await startServer();
    const { client, root, key } = server;
    const { location } = await client.createTable("t", items(1));
    await client.ok("/v1/table/t/deregister");
    await server.kill();
    const next = await startServer({ root, key });
    try {
      expect((await next.client.get("/v1/table")).json.tables).toEqual([]);
      await next.client.ok("/v1/table/u/register", { location });
      expect(await next.client.count("u")).toBe(1);
    } finally {
      await next.stop();
      removeDir(root);
    }
  });

  it("returns 404 for a missing table", async () => {
    expectFailure(await deregister("nobody"), 404, 4);
    expectFailure(await deregister("nowhere%24t"), 404, 1);
    expectFailure(await deregister("%24"), 400, 13);
  });

  it("removes a declared table", async () => {
    await joust.client.ok("/v1/table/declared/declare");
    await deregister("declared");
    expectFailure(await describeTable("declared"), 404, 4);
    expect((await joust.client.ok("/v1/table/declared/declare")).location).toBe(
      join(joust.root, "declared.lance"),
    );
  });
});

describe("register table", () => {
  it("gives files in the root a name, also in a namespace", async () => {
    const location = await unnamed("one", 7);
    const answer = await register("ns%24one", { location, mode: "create" });
    expect(answer.json).toMatchObject({ location: join(joust.root, location), properties: {} });
    expect(await joust.client.count("ns$one")).toBe(7);
    expect((await describeTable("ns%24one")).json).toMatchObject({ version: 1 });
  });

  it("rejects taken names and locations", async () => {
    const location = await unnamed("two", 1);
    await joust.client.createTable("taken", items(2));
    expectFailure(await register("taken", { location }), 409, 5, /taken/);
    expectFailure(await register("taken", { location, mode: "Create" }), 409, 5);
    expectFailure(await register("other", { location: "taken.lance" }), 409, 5, /location/);
    expectFailure(
      await register("source-two", { location: "taken.lance", mode: "overwrite" }),
      409,
      5,
      /location/,
    );
    expect(await joust.client.count("taken")).toBe(2);
  });

  it("replaces a registration only if replace is set", async () => {
    const { client } = joust;
    const location = await unnamed("three", 3);
    const { location: old } = await client.createTable("replaced", items(2));
    const answer = await register("replaced", { location, mode: "Overwrite" });
    expect(answer.json.location).toBe(join(joust.root, location));
    expect(await client.count("replaced")).toBe(3);
    expect(existsSync(old)).toBe(true);
    const same = { location, mode: "OVERWRITE", properties: { a: "b" } };
    expect((await register("replaced", same)).json.properties).toEqual({ a: "b" });
    await register("old", { location: old });
    expect(await client.count("old")).toBe(2);
  });

  it("requires a Lance table below the root", async () => {
    expectFailure(await register("x", { location: "nothing.lance" }), 400, 13, /no Lance table/);
    for (const location of ["../x", "/etc", "a/../../x", "s3://bucket/x", "file:///etc", "."]) {
      expectFailure(await register("x", { location }), 400, 13, /location/);
    }
    expectFailure(await register("x", {}), 400, 13, /location/);
    const location = await unnamed("four", 1);
    expectFailure(await register("x", { location, mode: "exist_ok" }), 400, 13, /overwrite/);
    expectFailure(await register("nowhere%24x", { location }), 404, 1);
    expectFailure(await register("_joust", { location }), 400, 13);
    expectFailure(await describeTable("x"), 404, 4);
  });
});
