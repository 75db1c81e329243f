import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const drop = (id: string, body?: object) =>
  joust.client.post(`/v1/namespace/${encodeURIComponent(id)}/drop`, body);

describe("drop namespace", () => {
  it("removes an empty namespace and returns its properties", async () => {
    await joust.client.createNamespace("empty", { properties: { a: "1" } });
    const reply = await drop("empty");
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({
      transaction_id: [expect.any(String)],
      properties: { a: "1" },
    });
    expectFailure(await joust.client.post("/v1/namespace/empty/exists"), 404, 1);
  });

  it.each([undefined, "Restrict", "RESTRICT", "restrict"])(
    "with behavior %s rejects a namespace that is not empty",
    async (behavior) => {
      const { client } = joust;
      const id = `full_${behavior}`;
      await client.createNamespace(id);
      await client.createNamespace(`${id}$child`);
      expectFailure(await drop(id, { behavior }), 409, 3, /Cascade/);
      await client.ok(`/v1/namespace/${id}$child/drop`);
      await client.createTable(`${id}$t`, items(1));
      expectFailure(await drop(id, { behavior }), 409, 3);
      expect(await client.count(`${id}$t`)).toBe(1);
    },
  );

  it.each(["Cascade", "CASCADE", "cascade"])(
    "with behavior %s also drops the contents",
    async (behavior) => {
      const { client, root } = joust;
      const id = `all_${behavior}`;
      await client.createNamespace(id);
      await client.createNamespace(`${id}$child`);
      await client.createTable(`${id}$t`, items(1));
      await client.createTable(`${id}$child$t`, items(1));
      expect(readdirSync(root).filter((name) => name.includes(id))).toHaveLength(2);
      const reply = await drop(id, { behavior });
      expect(reply.status).toBe(200);
      expectFailure(await client.post(`/v1/namespace/${id}$child/exists`), 404, 1);
      expectFailure(await client.post(`/v1/table/${id}$t/exists`), 404, 1);
      expect(readdirSync(root).filter((name) => name.includes(id))).toEqual([]);
    },
  );

  it("accepts the option values of the Node SDK, which quotes them twice", async () => {
    const { client } = joust;
    for (const id of ["twice", "twice$child"]) await client.createNamespace(id);
    expectFailure(await drop("twice", { behavior: '"Restrict"' }), 409, 3);
    expect((await drop("twice", { behavior: '"Cascade"' })).status).toBe(200);
    expectFailure(await drop("twice", { behavior: '"Casc"ade"' }), 400, 13, /behavior/);
  });

  it("with cascade spares other namespaces with the same name prefix", async () => {
    const { client } = joust;
    for (const id of ["near", "near2", "near$a", "near2$a"]) await client.createNamespace(id);
    expect((await drop("near", { behavior: "cascade" })).status).toBe(200);
    expect((await client.post("/v1/namespace/near2$a/exists")).status).toBe(200);
  });

  it("handles a missing namespace as the mode says", async () => {
    for (const mode of [undefined, "Fail", "FAIL"]) {
      expectFailure(await drop("missing", { mode }), 404, 1, /missing/);
    }
    for (const mode of ["Skip", "SKIP", "skip"]) {
      const reply = await drop("missing", { mode });
      expect(reply.status).toBe(200);
      expect(reply.json).toEqual({ transaction_id: [expect.any(String)] });
    }
  });

  it.each([
    ["mode", { mode: "force" }, /fail, skip/],
    ["behavior", { behavior: "recursive" }, /restrict, cascade/],
    ["type", { behavior: true }, /behavior/],
  ])("rejects an invalid %s", async (_, body, detail) => {
    await joust.client.createNamespace("stays", { mode: "exist_ok" });
    expectFailure(await drop("stays", body), 400, 13, detail);
    expect((await joust.client.post("/v1/namespace/stays/exists")).status).toBe(200);
  });

  it("rejects the root", async () => {
    expectFailure(await drop("$", { behavior: "cascade" }), 400, 13, /root/);
  });
});
