import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, expect, it } from "vitest";
import { Engine, RemoteWork, Task } from "../../src/engine/index.js";
import { ErrorCode } from "../../src/foundation/errors.js";
import { items } from "../harness/arrow.js";
import { setupServer } from "../harness/setup-server.js";
import { waitFor } from "../harness/wait-for.js";

const joust = setupServer();
const cleanUps: (() => void)[] = [];
let location: string;

beforeAll(async () => {
  ({ location } = await joust.client.createTable("t", items(20)));
  await joust.client.insert("t", items(10, { from: 20 }));
  const python = { source: "def double(id):\n    return id * 2", entry: "double" };
  const virtual_column = { input_columns: ["id"], data_type: { type: "int64" }, python };
  const new_columns = [{ name: "double", virtual_column: { ...virtual_column } }];
  await joust.client.ok("/v1/table/t/add_columns", { new_columns });
});

afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp();
});

/** A backfill that waits for workers. */
function start(work = new RemoteWork(0), options: object = {}) {
  const task = new Task();
  cleanUps.push(() => task.cancel());
  const reported: number[] = [];
  const table = new Engine().table(location);
  const column = { column: "double", ...options };
  const ended = table.backfill(column, task, ({ completed }) => reported.push(completed), work);
  const failure = ended.then(
    () => undefined,
    (error: { code: number; message: string }) => error,
  );
  return { work, task, failure, reported };
}

async function ordered(work: RemoteWork) {
  await work.ordered();
  const order = work.order();
  if (!order) throw new Error("there is no order");
  return { number: order.number, ...JSON.parse(order.text) };
}

const tally = { assigned: 0, failed: 0, changed: 0, failures: [] };
const part = (key: string, members: object = {}) =>
  JSON.stringify({ key, result: { tally, file: "a.lance", ...members } });

it("an order has what a worker needs", async () => {
  const { work } = start(new RemoteWork(0), { predicate: "ID > 3", concurrency: 3 });
  expect(work.order()).toBeNull();
  expect(await ordered(work)).toMatchObject({
    number: 1,
    kind: "backfill",
    location: expect.stringContaining(location),
    column: "double",
    nullable: true,
    arguments: [["id"]],
    condition: expect.stringContaining("ID > 3"),
    changed_since: null,
    batches: { least: 1, most: 4096 },
    concurrency: 3,
    function: { name: "double", inputs: ["id"], struct_field: null },
    tasks: [
      { fragment: 0, units: 20, key: expect.stringMatching(/^[0-9a-f]{16}$/) },
      { fragment: 1, units: 10, key: expect.stringMatching(/^[0-9a-f]{16}$/) },
    ],
  });
  expect(String(work.order()?.function)).toContain("def double(id)");
});

it("the keys of tasks are the same for each run of a job", async () => {
  const keys = async () =>
    (await ordered(start().work)).tasks.map(({ key }: { key: string }) => key);
  const first = await keys();
  expect(await keys()).toEqual(first);
  expect(new Set(first).size).toBe(2);
});

it("the progress of workers is that of the backfill", async () => {
  const { work, reported } = start();
  const { tasks } = await ordered(work);
  expect(work.progress(tasks[0].key, 15)).toBe(true);
  expect(work.progress(tasks[1].key, 1_000)).toBe(true);
  await waitFor("the progress", async () => reported.includes(25));
  // Of another state of the fragment.
  expect(work.progress("0000000000000000", 5)).toBe(false);
});

it("a part that nothing needs is not taken", async () => {
  const { work, task, failure } = start();
  const { tasks } = await ordered(work);
  const [{ key }] = tasks;
  expect(await work.deliver(part("0000000000000000"))).toBe(false);
  task.cancel();
  await failure;
  expect(work.order()).toBeNull();
  expect(work.orderNumber()).toBeNull();
  expect(work.progress(key, 1)).toBe(false);
  expect(await work.deliver(part(key))).toBe(false);
});

it("a file that is not the column of the fragment is refused, and the backfill continues", async () => {
  const { work } = start();
  const { tasks } = await ordered(work);
  const [{ key }] = tasks;
  const [existing] = readdirSync(join(location, "data"));
  const cases: [object, RegExp][] = [
    [{ file: "../../a.lance" }, /has an invalid name/],
    [{ file: "a" }, /has an invalid name/],
    [{ file: existing }, /belongs to a version of the table/],
  ];
  for (const [members, message] of cases) {
    const refused = work.deliver(part(key, members));
    await expect(refused).rejects.toMatchObject({ code: ErrorCode.InvalidInput });
    await expect(refused).rejects.toThrow(message);
  }
  await expect(work.deliver(part(key, { file: "missing.lance" }))).rejects.toThrow();
  await expect(work.deliver("{}")).rejects.toMatchObject({ code: ErrorCode.InvalidInput });
  expect(work.order()).not.toBeNull();
});

it("a failure of the workers fails the backfill, also one before it needs them", async () => {
  const { work, failure } = start();
  await work.ordered();
  work.fail("the function has no head", true);
  expect(await failure).toMatchObject({
    code: ErrorCode.InvalidInput,
    message: "the function has no head",
  });
  const early = new RemoteWork(0);
  early.fail("no cluster", false);
  const later = start(early);
  expect(await later.failure).toMatchObject({
    code: ErrorCode.ServiceUnavailable,
    message: "no cluster",
  });
});
