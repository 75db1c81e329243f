import { blob } from "@lancedb/lancedb";
import { Field, Int64, Schema } from "apache-arrow";
import { describe, expect, it } from "vitest";
import { ids, items, newTable } from "./items.js";
import { setupDatabase } from "./setup-database.js";

describe("@lancedb/lancedb 0.39: clones and blobs", () => {
  const remote = setupDatabase();

  it("the client clones tables", async () => {
    const { database, root } = remote;
    const table = await newTable(database, items(5));
    await (await table.tags()).create("first", 1);
    await table.delete("id > 2");
    const uri = `${root}/${table.name}.lance`;
    const clone = await database.cloneTable("clone", uri);
    await clone.delete("id = 0");
    expect(await ids(clone)).toEqual([1, 2]);
    expect(await ids(table)).toEqual([0, 1, 2]);
    const tagged = await database.cloneTable("tagged", uri, { sourceTag: "first" });
    expect(await tagged.countRows()).toBe(5);
    await expect(database.cloneTable("tagged", uri)).rejects.toThrow(/already exists/);
  });

  it("the client reads blobs completely and by range", async () => {
    const schema = new Schema([new Field("id", new Int64()), blob("image")]);
    const image = Buffer.from(Array.from({ length: 100_000 }, (_, at) => at % 251));
    const rows = [
      { id: 1n, image },
      { id: 2n, image: null },
    ];
    const table = await remote.database.createTable("album", rows, { schema });
    expect(await table.blobColumns()).toEqual(["image"]);
    const result = await table.query().select(["id"]).withRowId().toArray();
    const rowIds = result.map(({ _rowid }) => _rowid as bigint);
    const one = result.findIndex(({ id }) => Number(id) === 1);
    const blobs = await table.fetchBlobs("image", rowIds);
    expect(blobs[one]?.equals(image)).toBe(true);
    expect(blobs[1 - one]).toBeNull();
    const files = await table.fetchBlobFiles("image", rowIds);
    expect(Number(files[one]?.size())).toBe(image.length);
    const part = await files[one]?.readRange(250n, 253n);
    expect([...(part ?? [])]).toEqual([250, 0, 1]);
  });
});
