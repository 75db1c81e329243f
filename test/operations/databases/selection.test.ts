/** Which namespace the header `x-lancedb-database` selects. */
import { describe, expect, it } from "vitest";
import { setupGrants } from "../../auth/grants/grant-callers.js";
import { items } from "../../harness/arrow.js";
import type { Client } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer, startServerForTest } from "../../harness/setup-server.js";

const isRoot = async (client: Client): Promise<boolean> => {
  const { status, json } = await client.get("/v1/table/");
  if (status !== 200) return false;
  return json.tables.includes("root");
};

describe("--lancedb-databases existing", () => {
  const joust = setupServer();
  const grants = setupGrants(joust);

  it("selects the root until a namespace of the name exists, and never again", async () => {
    await joust.client.createTable("root", items(3));
    const database = joust.client.inDatabase("dev");
    expect(await isRoot(database)).toBe(true);
    await joust.client.createNamespace("dev");
    expect(await isRoot(database)).toBe(false);
    await database.createTable("root", items(1));
    expect(await joust.client.count("dev$root")).toBe(1);
    await joust.client.ok("/v1/namespace/dev/drop", { behavior: "Cascade" });
    // A connection that is still open must not change tables of the root.
    expectFailure(await database.post("/v1/table/root/drop"), 404, 1, /dev/);
    expectFailure(await database.post("/v1/table/new/create", items(1)), 404, 1, /dev/);
    expectFailure(await database.post("/v1/namespace/$/create", { mode: "ExistOk" }), 404, 1);
    expectFailure(await database.post("/v1/namespace/n/create"), 404, 1, /dev/);
    expect(await joust.client.count("root")).toBe(3);
    await joust.client.createNamespace("dev");
    expect((await database.get("/v1/table/")).json.tables).toEqual([]);
  });

  it("selects the root for names that no namespace can have", async () => {
    expect(await isRoot(joust.client.inDatabase("team/search"))).toBe(true);
    expect(await isRoot(joust.client.inDatabase(""))).toBe(true);
  });

  it("selects only what a caller without a role may see", async () => {
    await joust.client.createNamespace("open");
    await joust.client.createNamespace("secret");
    await joust.client.createTable("open$t", items(2));
    const { client } = await grants.caller({
      "table:open$t": ["select"],
      "table:root": ["select"],
    });
    expect((await client.inDatabase("open").get("/v1/table/")).json.tables).toEqual(["t"]);
    expect(await client.inDatabase("open").count("t")).toBe(2);
    expectFailure(await client.inDatabase("open").post("/v1/table/t/drop"), 403, 15);
    // As for a namespace that does not exist.
    for (const name of ["secret", "missing"]) {
      expect((await client.inDatabase(name).get("/v1/table/")).json.tables).toEqual(["root"]);
    }
    const writer = await grants.caller({ "namespace:open": ["create", "select"] });
    await writer.client.inDatabase("open").createTable("made", items(1));
    expect(await joust.client.count("open$made")).toBe(1);
    expectFailure(await writer.client.post("/v1/table/made/create", items(1)), 403, 15);
  });
});

describe("--lancedb-databases required", () => {
  it("refuses the name of a namespace that does not exist", async () => {
    const { client } = await startServerForTest({ args: ["--lancedb-databases", "required"] });
    await client.createTable("t", items(1));
    expectFailure(await client.inDatabase("dev").get("/v1/table/"), 404, 1, /dev/);
    expectFailure(await client.inDatabase("dev").post("/v1/table/t/drop"), 404, 1, /dev/);
    await client.createNamespace("dev");
    await client.inDatabase("dev").createTable("t", items(2));
    expect(await client.count("dev$t")).toBe(2);
    expect(await client.count("t")).toBe(1);
  });
});

describe("--lancedb-databases ignored", () => {
  it("always selects the root", async () => {
    const { client } = await startServerForTest({ args: ["--lancedb-databases", "ignored"] });
    await client.createNamespace("dev");
    await client.createTable("t", items(1));
    expect(await client.inDatabase("dev").count("t")).toBe(1);
  });
});

describe("several threads", () => {
  it("see a new database at once", async () => {
    const { client } = await startServerForTest({ args: ["--http-threads", "2"] });
    await client.createTable("root", items(1));
    for (let n = 0; n < 10; n++) {
      const database = client.inDatabase(`d${n}`);
      expect(await isRoot(database)).toBe(true);
      await client.createNamespace(`d${n}`);
      const seen = await Promise.all(Array.from({ length: 8 }, () => isRoot(database)));
      expect(seen).toEqual(Array(8).fill(false));
    }
  });
});
