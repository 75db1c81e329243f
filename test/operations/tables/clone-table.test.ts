import { readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { waitForIndex } from "../../harness/indexes.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const clone = (id: string, body: object) => joust.client.post(`/v1/table/${id}/clone`, body);
const locationOf = async (id: string): Promise<string> =>
  (await joust.client.ok(`/v1/table/${id}/describe`)).location;

beforeAll(async () => {
  const { client } = joust;
  await client.createNamespace("ns");
  await client.createTable("source", items(300));
  await client.ok("/v1/table/source/create_index", { column: "vector", index_type: "IVF_FLAT" });
  await waitForIndex(client, "source", "vector_idx");
  await client.ok("/v1/table/source/tags/create", { tag: "first", version: 1 });
  await client.insert("source", items(50, { from: 300 }));
  await client.ok("/v1/table/source/delete", { predicate: "id < 10" });
});

describe("clone table", () => {
  it.each([true, false])(
    "copies the latest version with its indexes (shallow: %s)",
    async (is_shallow) => {
      const id = `ns$copy_${is_shallow}`;
      const reply = await clone(id, { source_location: await locationOf("source"), is_shallow });
      expect(reply.status).toBe(200);
      expect(reply.json).toMatchObject({ location: await locationOf(id), properties: {} });
      expect(await joust.client.count(id)).toBe(340);
      const { indexes } = await joust.client.ok(`/v1/table/${id}/index/list`);
      expect(indexes.map((index: { index_name: string }) => index.index_name)).toEqual([
        "vector_idx",
      ]);
      const query = { k: 3, vector: { single_vector: Array(8).fill(0.5) } };
      const [mine, theirs] = [
        await joust.client.query(id, query),
        await joust.client.query("source", query),
      ];
      expect([...mine].map((row) => row.id)).toEqual([...theirs].map((row) => row.id));
    },
  );

  it("copies a version by number or by tag", async () => {
    const source_location = await locationOf("source");
    await clone("by_number", { source_location, source_version: 1, is_shallow: true });
    await clone("by_tag", { source_location, source_tag: "first", is_shallow: true });
    expect(await joust.client.count("by_number")).toBe(300);
    expect(await joust.client.count("by_tag")).toBe(300);
  });

  it("is independent of its source in both directions", async () => {
    const { client } = joust;
    await client.createTable("parent", items(20));
    const source_location = await locationOf("parent");
    expect((await clone("child", { source_location, is_shallow: true })).status).toBe(200);
    await client.insert("child", items(5, { from: 20 }));
    await client.ok("/v1/table/parent/delete", { predicate: "true" });
    expect([await client.count("parent"), await client.count("child")]).toEqual([0, 25]);
    await client.ok("/v1/table/parent/drop");
    const rows = await client.query("child", { k: 100, vector: {} });
    expect([...rows].map((row) => row.name).sort()).toEqual(
      Array.from({ length: 25 }, (_, n) => `item ${n}`).sort(),
    );
  });

  it("rejects an invalid source and leaves nothing", async () => {
    const source_location = await locationOf("source");
    const before = readdirSync(joust.root).sort();
    const refusals: [object, number, number, RegExp?][] = [
      [{ source_location: join(joust.root, "none.lance") }, 404, 4],
      [{ source_location: "/etc" }, 400, 13, /below the server's root/],
      [{ source_location: "../x" }, 400, 13, /below the server's root/],
      [{ source_location: ".joust" }, 400, 13],
      [{ source_location, source_version: 99 }, 404, 11],
      [{ source_location, source_version: 2 ** 60 }, 404, 11],
      [{ source_location, source_version: 1e300 }, 400, 13],
      [{ source_location, source_tag: "none" }, 404, 8],
      [{ source_location, source_version: 1, source_tag: "first" }, 400, 13, /both/],
      [{}, 400, 13, /source_location/],
    ];
    for (const [body, status, code, detail] of refusals) {
      expectFailure(await clone("refused", body), status, code, detail);
      expectFailure(await joust.client.post("/v1/table/refused/exists"), 404, 4);
    }
    expectFailure(await clone("source", { source_location }), 400, 5, /already exists/);
    expectFailure(await clone("nowhere$t", { source_location }), 404, 1);
    expect(readdirSync(joust.root).sort()).toEqual(before);
    expect(await joust.client.count("source")).toBe(340);
  });
});
