/** The test is the worker: it rewrites fragments in a copy of the table. test/clients/ray has real workers. */
import {
  copyFileSync,
  cpSync,
  readdirSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type CompactOptions,
  Engine,
  RemoteWork,
  type Table,
  Task,
} from "../../src/engine/index.js";
import { ErrorCode } from "../../src/foundation/errors.js";
import { items, stream, type } from "../harness/arrow.js";
import { waitForJobResult } from "../harness/jobs.js";
import { setupServer } from "../harness/setup-server.js";
import { tempDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";

const joust = setupServer();
const tasks: Task[] = [];
let number = 0;
let name: string;
let location: string;

/** Fragments of 20, 10 and 10 rows. Three rows of the first one are deleted, and one row was changed. */
beforeEach(async () => {
  name = `t${++number}`;
  ({ location } = await joust.client.createTable(name, items(20)));
  for (const from of [20, 30]) await joust.client.insert(name, items(10, { from }));
  await joust.client.ok(`/v1/table/${name}/delete`, { predicate: "id IN (3, 4, 17)" });
});

afterEach(() => {
  for (const task of tasks.splice(0)) task.cancel();
});

/** A compaction that waits for workers. */
function start(options: CompactOptions = {}, remote = new RemoteWork(0)) {
  const task = new Task();
  tasks.push(task);
  const progress: number[] = [];
  const table: Table = new Engine().table(location);
  const ended = table.compact(options, task, ({ completed }) => progress.push(completed), remote);
  ended.catch(() => {});
  return { remote, task, ended, progress };
}

async function ordered(remote: RemoteWork) {
  expect(await remote.ordered()).toBe(true);
  return JSON.parse(remote.order()?.text ?? "null");
}

const data = () => join(location, "data");
const files = () => readdirSync(data()).sort();

/** Writes what a worker writes for all fragments. Returns the names of the files. */
async function rewritten(options: CompactOptions = {}): Promise<string[]> {
  const copy = join(tempDir("copy"), "t.lance");
  cpSync(location, copy, { recursive: true });
  await new Engine().table(copy).compact(options, new Task(), () => {});
  const present = new Set(files());
  const made = readdirSync(join(copy, "data")).filter((file) => !present.has(file));
  for (const file of made) copyFileSync(join(copy, "data", file), join(data(), file));
  return made;
}

const part = (key: string, ...names: string[]) => JSON.stringify({ key, result: { files: names } });

const rows = async () => {
  const columns = { column_names: ["id", "name"] };
  const query = { vector: {}, k: 1_000, with_row_id: true, columns };
  const found = (await joust.client.query(name, query)).toArray().map((row) => row.toJSON());
  return found.sort((a, b) => Number(a.id - b.id));
};

describe("a compaction on workers", () => {
  it("orders groups of fragments, and commits the files of a worker", async () => {
    const before = await rows();
    const { remote, ended, progress } = start();
    const order = await ordered(remote);
    expect(order).toMatchObject({
      kind: "compaction",
      location: expect.stringContaining(location),
      concurrency: null,
      options: { target_rows_per_fragment: 2 ** 20, io_buffer_size: null },
      tasks: [{ fragments: [0, 1, 2], units: 37 }],
    });
    expect(remote.order()?.function).toBeUndefined();
    const [{ key }] = order.tasks;
    const [file = ""] = await rewritten();
    expect(await remote.deliver(part(key, file))).toBe(true);
    expect(await ended).toMatchObject({
      fragmentsRemoved: 3,
      fragmentsAdded: 1,
      filesRemoved: 4,
      filesAdded: 1,
    });
    expect(progress).toContain(37);
    expect(await rows()).toEqual(before);
    // Handed over again, after the reply was lost.
    expect(await remote.deliver(part(key, file))).toBe(false);
  });

  it("keeps the rows, their ids and the indexes", async () => {
    for (const index of [
      { column: "id", index_type: "BTREE" },
      { column: "vector", index_type: "IVF_FLAT", distance_type: "l2" },
    ]) {
      const { transaction_id } = await joust.client.ok(`/v1/table/${name}/create_index`, index);
      await waitForJobResult(joust.client, transaction_id);
    }
    await joust.client.ok(`/v1/table/${name}/update`, {
      updates: [["name", "'changed'"]],
      predicate: "id = 25",
    });
    const before = await rows();
    const { remote, ended } = start();
    const { tasks: ordered_tasks } = await ordered(remote);
    const made = await rewritten();
    // The copy may have rewritten groups in another order than that of the tasks.
    const delivered = await Promise.all(
      ordered_tasks.map(async ({ key, units }: { key: string; units: number }) => {
        for (const file of made) {
          const taken = await remote.deliver(part(key, file)).catch(() => false);
          if (taken) return units;
        }
        return 0;
      }),
    );
    expect(delivered.reduce((sum, units) => sum + units, 0)).toBeGreaterThan(0);
    await ended;
    expect(await rows()).toEqual(before);
    for (const id of [0, 18, 21, 35]) {
      expect(await joust.client.count(name, { predicate: `id = ${id}` })).toBe(1);
    }
    expect(await joust.client.count(name, { predicate: "id = 3" })).toBe(0);
  });

  it("refuses files that do not match the group, and continues", async () => {
    const { remote, ended } = start({}, new RemoteWork(0, Date.now()));
    const [{ key }] = (await ordered(remote)).tasks;
    const [existing = ""] = files();
    const [file = ""] = await rewritten();
    const other = await joust.client.createTable(`${name}-other`, items(20));
    const [foreign = ""] = readdirSync(join(other.location, "data"));
    copyFileSync(join(other.location, "data", foreign), join(data(), foreign));
    const few = await joust.client.createTable(`${name}-few`, stream({ id: [type.i64, [1n]] }));
    const [narrow = ""] = readdirSync(join(few.location, "data"));
    copyFileSync(join(few.location, "data", narrow), join(data(), narrow));
    const cases: [string[], RegExp][] = [
      [["../../a.lance"], /has an invalid name/],
      [[existing], /belongs to a version of the table/],
      [[], /have 0 rows, and the fragments in their place have 37/],
      [[file, file], /is there twice/],
      [[file, foreign], /have 57 rows, and the fragments in their place have 37/],
      [[narrow], /has other columns/],
      [["missing.lance"], /workers have to write where the server reads/],
      [["short.lance"], /is damaged/],
      [["other.lance"], /is damaged/],
      [["old.lance"], /is older than the job/],
    ];
    copyFileSync(join(data(), file), join(data(), "old.lance"));
    const anHourAgo = Date.now() / 1_000 - 3_600;
    utimesSync(join(data(), "old.lance"), anHourAgo, anHourAgo);
    const content = readFileSync(join(data(), file));
    writeFileSync(join(data(), "short.lance"), content.subarray(0, content.length - 10));
    // The metadata of the columns is no protobuf any more.
    const metadata = Number(content.readBigUInt64LE(content.length - 40));
    const damaged = Buffer.from(content).fill(0xff, metadata, metadata + 16);
    writeFileSync(join(data(), "other.lance"), damaged);
    for (const [names, message] of cases) {
      const refused = remote.deliver(part(key, ...names));
      await expect(refused).rejects.toMatchObject({ code: ErrorCode.InvalidInput });
      await expect(refused).rejects.toThrow(message);
    }
    await expect(remote.deliver(JSON.stringify({ key, result: {} }))).rejects.toThrow(/invalid/);
    expect(await remote.deliver(part(key, file))).toBe(true);
    expect(await ended).toMatchObject({ fragmentsAdded: 1 });
  });

  it("removes the files of workers when it is cancelled or fails", async () => {
    for (const end of ["cancel", "fail"]) {
      const before = files();
      const { remote, task, ended } = start({ targetRowsPerFragment: 15 });
      const { tasks: groups } = await ordered(remote);
      expect(groups).toHaveLength(2);
      const made = await rewritten({ targetRowsPerFragment: 15 });
      const taken = made.map((file) =>
        remote.deliver(part(groups[0].key, file)).catch(() => undefined),
      );
      await Promise.all(taken);
      if (end === "cancel") task.cancel();
      else remote.fail("no cluster", false);
      await expect(ended).rejects.toThrow();
      // That of the other group was not handed over.
      await waitFor("the removal", async () => files().length === before.length + 1);
      expect(before.every((file) => files().includes(file))).toBe(true);
    }
  });

  it("keeps the files that another run of the job has committed", async () => {
    for (const from of [40, 51]) await joust.client.insert(name, items(11, { from }));
    const before = await rows();
    const options = { targetRowsPerFragment: 15 };
    const late = start(options);
    const lost = start(options);
    const first = start(options);
    const made = await rewritten(options);
    const { tasks: groups } = await ordered(first.remote);
    expect(groups.map(({ units }: { units: number }) => units)).toEqual([17, 20, 22]);
    const shared: string[] = [];
    for (const { key } of groups) {
      for (const file of made) {
        if (!(await first.remote.deliver(part(key, file)).catch(() => false))) continue;
        shared.push(file);
        break;
      }
    }
    expect(await first.ended).toMatchObject({ fragmentsAdded: 3 });
    // The rewrite of a server that has lost the job.
    await ordered(late.remote);
    for (const [number, { key }] of groups.entries()) {
      expect(await late.remote.deliver(part(key, shared[number] ?? ""))).toBe(true);
    }
    expect(await late.ended).toMatchObject({ fragmentsAdded: 0 });
    // Another one is cancelled. One of its files is its own.
    await ordered(lost.remote);
    copyFileSync(join(data(), shared[1] ?? ""), join(data(), "own.lance"));
    expect(await lost.remote.deliver(part(groups[0].key, shared[0] ?? ""))).toBe(true);
    expect(await lost.remote.deliver(part(groups[1].key, "own.lance"))).toBe(true);
    lost.task.cancel();
    await expect(lost.ended).rejects.toThrow();
    await waitFor("the removal", async () => !files().includes("own.lance"));
    expect(files()).toEqual(expect.arrayContaining(shared));
    expect(await rows()).toEqual(before);
  });

  it("does smaller work itself", async () => {
    const { remote, ended } = start({}, new RemoteWork(2 ** 30));
    expect(await ended).toMatchObject({ fragmentsRemoved: 3 });
    expect(await remote.ordered()).toBe(false);
  });
});
