import { join } from "node:path";
import { expect, it } from "vitest";
import { clientLocation } from "../../src/catalog/tables/client-location.js";
import type { OpenCatalog } from "../../src/server/open-catalog.js";
import { describeOnEachDatabase, makeTable } from "./catalog-databases.js";

const nothing = { properties: {}, creator: null };

const declare = async ({ catalog }: OpenCatalog, id: string[], location?: string) =>
  (await catalog.changeTables({ declare: [{ ...nothing, id, location }] })).declared[0];

describeOnEachDatabase((newCatalog) => {
  it("the catalog declares a table, lists it and confirms it", async () => {
    const store = await newCatalog().open();
    const { catalog } = store;
    const declared = await declare(store, ["t"]);
    expect(declared).toMatchObject({ id: ["t"], declared: true });
    expect(await catalog.table(["t"])).toEqual(declared);
    expect((await catalog.listTables([], {})).items).toEqual(["t"]);
    expect((await catalog.listTables([], {}, { declared: false })).items).toEqual([]);
    expect((await catalog.listAllTables({}, { declared: false })).items).toEqual([]);
    await catalog.confirmTable(declared?.key as string);
    expect(await catalog.table(["t"])).toMatchObject({ declared: false });
    expect((await catalog.listTables([], {}, { declared: false })).items).toEqual(["t"]);
    await expect(catalog.confirmTable("nobody")).rejects.toMatchObject({ code: 14 });
  });

  it("declare rejects taken names, taken locations and missing parents", async () => {
    const given = newCatalog();
    const store = await given.open();
    const there = await makeTable(store, ["there"]);
    await expect(declare(store, ["there"])).rejects.toMatchObject({ code: 5 });
    await expect(declare(store, ["a"], there.location)).rejects.toMatchObject({ code: 5 });
    for (const near of [join(there.location, "data"), join(there.location, "tree", "b")]) {
      await expect(declare(store, ["a"], near)).rejects.toMatchObject({ code: 5 });
    }
    await declare(store, ["deep"], join(given.root, "x", "y.lance"));
    await expect(declare(store, ["a"], join(given.root, "x"))).rejects.toMatchObject({ code: 5 });
    await declare(store, ["beside"], join(given.root, "x", "y.lance2"));
    await expect(declare(store, ["nowhere", "a"])).rejects.toMatchObject({ code: 1 });
    await expect(declare(store, ["a/b"])).rejects.toMatchObject({ code: 13 });
  });

  it("a batch declares and deregisters all of its tables or none", async () => {
    const store = await newCatalog().open();
    const { catalog } = store;
    await makeTable(store, ["old"]);
    const changes = {
      declare: [
        { ...nothing, id: ["new"] },
        { ...nothing, id: ["old2"] },
      ],
      deregister: [["old"]],
    };
    await makeTable(store, ["old2"]);
    await expect(catalog.changeTables(changes)).rejects.toMatchObject({ code: 5 });
    expect((await catalog.listTables([], {})).items).toEqual(["old", "old2"]);
    await expect(
      catalog.changeTables({ declare: [{ ...nothing, id: ["new"] }], deregister: [["gone"]] }),
    ).rejects.toMatchObject({ code: 4 });
    await expect(catalog.changeTables({ deregister: [["no", "gone"]] })).rejects.toMatchObject({
      code: 1,
    });
    expect((await catalog.listTables([], {})).items).toEqual(["old", "old2"]);
  });

  it("a deregistered location stays excluded until it is registered again", async () => {
    const given = newCatalog();
    const store = await given.open();
    const { catalog } = store;
    const table = await makeTable(store, ["t"]);
    await catalog.changeTables({ deregister: [["t"]] });
    await expect(catalog.table(["t"])).rejects.toMatchObject({ code: 4 });
    // Neither adoption nor a new table uses the files.
    const result = { tables: [{ id: ["t"], location: table.location }], namespaces: [] };
    expect((await catalog.adopt(result, async () => "table")).adopted).toEqual([]);
    expect((await makeTable(store, ["t"])).location).not.toBe(table.location);
    await expect(declare(store, ["u"], table.location)).rejects.toMatchObject({ code: 5 });
    const again = {
      ...nothing,
      id: ["back"],
      location: table.location,
      properties: { a: "b" },
    };
    const registered = await catalog.registerTable(again, { replace: false });
    expect(registered.table).toMatchObject({ ...again, declared: false });
    expect(registered.replaced).toBeUndefined();
    await expect(
      catalog.registerTable({ ...again, id: ["other"] }, { replace: true }),
    ).rejects.toMatchObject({ code: 5 });
  });

  it("register replaces a registration only if replace is set", async () => {
    const store = await newCatalog().open();
    const { catalog } = store;
    const one = await makeTable(store, ["one"]);
    const two = await makeTable(store, ["two"]);
    await catalog.changeTables({ deregister: [["two"]] });
    const wanted = { ...nothing, id: ["one"], location: two.location, properties: { x: "y" } };
    await expect(catalog.registerTable(wanted, { replace: false })).rejects.toMatchObject({
      code: 5,
    });
    const { replaced } = await catalog.registerTable(wanted, { replace: true });
    expect(replaced).toMatchObject({ key: one.key, location: one.location });
    expect(await catalog.table(["one"])).toMatchObject({ location: two.location });
    // A repeated registration only sets the properties and keeps the table's key.
    const before = await catalog.table(["one"]);
    await catalog.registerTable({ ...wanted, properties: { x: "z" } }, { replace: true });
    expect(await catalog.table(["one"])).toEqual({ ...before, properties: { x: "z" } });
  });

  it("only one caller at a time may write the first version of a declared table", async () => {
    const given = newCatalog();
    const store = await given.open();
    const { catalog } = store;
    const { key = "" } = (await declare(store, ["t"])) ?? {};
    const claims = await Promise.all([1, 2, 3].map(() => catalog.claimFirstVersion(key)));
    expect(claims.filter(Boolean)).toHaveLength(1);
    expect(await catalog.table(["t"])).toMatchObject({ declared: true });
    await catalog.releaseFirstVersion(key);
    expect(await catalog.claimFirstVersion(key)).toBe(true);
    // The claim of an ended server is free.
    await store.close();
    const next = await given.open();
    expect(await next.catalog.claimFirstVersion(key)).toBe(true);
    await next.catalog.confirmTable(key);
    expect(await next.catalog.claimFirstVersion(key)).toBe(false);
    await next.catalog.releaseFirstVersion(key);
    expect(await next.catalog.table(["t"])).toMatchObject({ declared: false });
  });

  it("adoption confirms a declared table when its files appear", async () => {
    const store = await newCatalog().open();
    const declared = await declare(store, ["t"]);
    const result = {
      tables: [{ id: ["t"], location: declared?.location as string }],
      namespaces: [],
    };
    await store.catalog.adopt(result, async () => "other");
    expect(await store.catalog.table(["t"])).toMatchObject({ declared: true });
    await store.catalog.adopt(result, async () => "table");
    expect(await store.catalog.table(["t"])).toMatchObject({ key: declared?.key, declared: false });
  });
});

it("a client may name locations below the root only, in every form of a location", () => {
  for (const given of ["a.lance", "/data/root/a.lance", "file:///data/root/a.lance/"]) {
    expect(clientLocation("/data/root", given)).toBe("/data/root/a.lance");
  }
  for (const given of ["a.lance", "s3://b/root/a.lance"]) {
    expect(clientLocation("s3://b/root", given)).toBe("s3://b/root/a.lance");
  }
  const outside = [
    "..",
    "../x",
    "a/../../x",
    "a/../b",
    "/data/root",
    "/data/rootx/a",
    "/etc/passwd",
    "s3://b/a",
    "file:///etc/x",
    "file://host/x",
    "a//b",
    "",
    ".",
    "./a",
    "a/%2e%2e/b",
    "a\\b",
    "a\u0000b",
    "file:///data/root/%2e%2e/x",
    ".joust/x",
    "_joust/x",
    "__manifest",
    "__manifest/x",
  ];
  for (const given of outside) {
    expect(() => clientLocation("/data/root", given), given).toThrow(
      expect.objectContaining({ code: 13 }),
    );
  }
  for (const given of [
    "s3://b/root",
    "s3://b/rootx/a",
    "s3://c/root/a",
    "/a",
    "../a",
    "s3://b/root/../a",
  ]) {
    expect(() => clientLocation("s3://b/root", given), given).toThrow(
      expect.objectContaining({ code: 13 }),
    );
  }
});
