import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { items, stream, type } from "../harness/arrow.js";
import type { Answer } from "../harness/client.js";
import { Faults, hasFaults } from "../harness/faults.js";
import type { Server } from "../harness/server.js";
import { startServerForTest } from "../harness/setup-server.js";
import { SmallDisk, smallDiskMissing } from "../harness/small-disk.js";
import { removeDir, tempDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";

const MiB = 1024 * 1024;
const EIO = 5;

/** Changes of every kind; each fails while the disk fails. */
const changes: Record<string, (server: Server) => Promise<Answer>> = {
  insert: ({ client }) => client.post("/v1/table/t/insert", items(10, { from: 5_000 })),
  create: ({ client }) => client.post("/v1/table/new/create", items(10)),
  delete: ({ client }) => client.post("/v1/table/t/delete", { predicate: "id < 5" }),
  update: ({ client }) => client.post("/v1/table/t/update", { updates: [["name", "'x'"]] }),
  merge: ({ client }) =>
    client.post("/v1/table/t/merge_insert", items(10, { from: 95 }), {
      on: "id",
      when_not_matched_insert_all: "true",
    }),
  "add a column": ({ client }) =>
    client.post("/v1/table/t/add_columns", {
      new_columns: [{ name: "double", expression: "price * 2" }],
    }),
  tag: ({ client }) => client.post("/v1/table/t/tags/create", { tag: "x", version: 1 }),
};

/** Nothing was changed, no partial write is visible, and reads work. */
async function expectUnchanged({ client, root }: Server): Promise<void> {
  expect(await client.count("t")).toBe(100);
  expect(await client.count("t", { predicate: "name = 'x'" })).toBe(0);
  expect((await client.query("t", { vector: { single_vector: [] }, k: 200 })).numRows).toBe(100);
  const { schema } = await client.ok("/v1/table/t/describe");
  expect(schema.fields).toHaveLength(5);
  expect((await client.post("/v1/table/new/exists")).status).toBe(404);
  expect(readdirSync(root).filter((name) => name.endsWith(".lance"))).toEqual(["t.lance"]);
}

/** Every change succeeds after the disk works again. */
async function expectChangesSucceed(server: Server): Promise<void> {
  for (const [name, change] of Object.entries(changes)) {
    const answer = await change(server);
    expect([name, answer.status, answer.status < 300 ? "" : answer.text]).toEqual([
      name,
      answer.status,
      "",
    ]);
  }
  expect(await server.client.count("new")).toBe(10);
  expect(await server.client.count("t")).toBe(110);
}

async function expectFailures(server: Server, message: RegExp): Promise<void> {
  for (const [name, change] of Object.entries(changes)) {
    const answer = await change(server);
    expect([name, answer.status, answer.json.code]).toEqual([name, 503, 17]);
    expect(answer.json.error, name).toMatch(message);
    expect(answer.headers.get("retry-after"), name).not.toBeNull();
  }
}

async function serve(
  root: string,
  options: { args?: string[]; env?: Record<string, string> } = {},
) {
  const server = await startServerForTest({
    root,
    args: ["--maintenance", "off", ...(options.args ?? [])],
    ...(options.env && { env: options.env }),
  });
  await server.client.createTable("t", items(100));
  return server;
}

/** A separate disk, and a directory on another disk for the catalog. */
function disk(mebibytes: number): { disk: SmallDisk; root: string; elsewhere: string } {
  const disk = new SmallDisk(mebibytes);
  onTestFinished(() => disk.remove());
  const dir = tempDir("catalog");
  onTestFinished(() => removeDir(dir));
  return { disk, root: join(disk.path, "root"), elsewhere: join(dir, "catalog.db") };
}

describe.skipIf(smallDiskMissing)("a server on a small disk", () => {
  it("rejects changes with the cause while the disk is full and works again after space is free", async () => {
    const { disk: small, root, elsewhere } = disk(48);
    const server = await serve(root, { args: ["--catalog", elsewhere] });
    small.fill(0);
    await expectFailures(server, /^the storage is full/);
    await expectUnchanged(server);
    small.empty();
    await expectChangesSucceed(server);
  }, 60_000);

  it("loses nothing if the full disk also contains the catalog", async () => {
    const { disk: small, root } = disk(48);
    const server = await serve(root);
    small.fill(0);
    await expectFailures(server, /^the storage is full|^the catalog database .* has no space/);
    await expectUnchanged(server);
    small.empty();
    await expectChangesSucceed(server);
  }, 60_000);

  it("removes what a failed insert wrote when the insert fills the disk", async () => {
    const { disk: small, root, elsewhere } = disk(48);
    const server = await serve(root, { args: ["--catalog", elsewhere] });
    const texts = Array.from({ length: 1_000 }, () => randomBytes(12_000).toString("base64"));
    const long = stream({
      id: [type.i64, texts.map((_, row) => BigInt(row))],
      name: [type.text, texts],
    });
    small.fill(4 * MiB);
    const before = small.free;
    const answer = await server.client.post("/v1/table/t/insert", long);
    expect([answer.status, answer.json.error]).toEqual([
      503,
      "the storage is full; send the request again when there is space",
    ]);
    // A write in progress at the failure may keep the file open for a moment.
    await waitFor("its space is free", () => small.free > before - MiB / 2);
    small.empty();
    await expectUnchanged(server);
    await expectChangesSucceed(server);
  }, 60_000);

  it("rejects changes with the cause while the disk is read-only and works again afterwards", async () => {
    const { disk: small, root, elsewhere } = disk(48);
    const server = await serve(root, { args: ["--catalog", elsewhere] });
    small.setReadOnly(true);
    await expectFailures(server, /^the storage is read-only/);
    await expectUnchanged(server);
    small.setReadOnly(false);
    await expectChangesSucceed(server);
  }, 60_000);
});

describe.skipIf(!hasFaults)("a server on a disk that returns errors", () => {
  it.each([true, false])(
    "loses nothing (the catalog does not fail: %s)",
    async (spared) => {
      const root = tempDir("faulty");
      onTestFinished(() => removeDir(root));
      const faults = new Faults(root);
      const server = await serve(root, { env: faults.env });
      faults.failWith(EIO, spared);
      await expectFailures(server, /^the storage reports an input or output error|^the catalog/);
      await expectUnchanged(server);
      faults.failWith(0);
      await expectChangesSucceed(server);
    },
    60_000,
  );
});
