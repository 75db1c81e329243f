import { afterEach, expect, it, vi } from "vitest";
import type { Completion } from "../../src/multipart/multipart.js";
import { describeOnEachDatabase, makeTable } from "../catalog/catalog-databases.js";

const HOUR = 3_600_000;
const pass = (hours: number) => vi.setSystemTime(Date.now() + hours * HOUR);
const part = (name: string) => ({ name, contents: Buffer.from(name), overwrite: false });
const branch = undefined;

afterEach(() => vi.useRealTimers());

describeOnEachDatabase((newCatalog) => {
  const begun = async () => {
    const opened = await newCatalog().open();
    const { key: table } = await makeTable(opened, ["t"]);
    vi.useFakeTimers({ toFake: ["Date"] });
    const id = await opened.multipart.begin({ table, branch, version: 1 });
    return { uploads: opened.multipart, name: { id, table, branch } };
  };

  it("a multipart write accepts parts for three days and can be completed later", async () => {
    const { uploads, name } = await begun();
    expect(name.id).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    for (const day of [0, 1, 2]) {
      expect(await uploads.open(name)).toMatchObject({ id: name.id, version: 1 });
      await uploads.recordPart(name.id, part(`day ${day}`));
      pass(23.9);
    }
    pass(0.5);
    await expect(uploads.open(name)).rejects.toThrow(/more than three days ago/);
    const { parts } = (await uploads.complete(name)) as Extract<Completion, { parts: unknown }>;
    expect(parts.map(String)).toEqual(["day 0", "day 1", "day 2"]);
  });

  it("the parts of a multipart write whose commit is retried are not orphaned", async () => {
    const { uploads, name } = await begun();
    await uploads.recordPart(name.id, part("a"));
    await uploads.complete(name);
    expect(await uploads.orphanedParts()).toEqual([]);
    pass(25);
    const [stale] = await uploads.orphanedParts();
    expect(stale?.maybeCommitted).toBe(true);
    expect(await uploads.complete(name)).toMatchObject({ retried: true });
    expect(await stale?.claim()).toBe(false);

    pass(25);
    const [left] = await uploads.orphanedParts();
    expect(await left?.claim()).toBe(true);
    await expect(uploads.complete(name)).rejects.toThrow(/begin a new one/);
    await left?.removed();
    expect(await uploads.orphanedParts()).toEqual([]);
  });
});
