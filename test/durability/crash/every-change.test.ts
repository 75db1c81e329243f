import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { random } from "../../harness/arrow.js";
import type { Client } from "../../harness/client.js";
import { Faults, hasFaults } from "../../harness/faults.js";
import { type Server, startServer } from "../../harness/server.js";
import { removeDir, tempDir } from "../../harness/temp.js";
import { checkFiles, namesOf } from "./checks.js";
import { type CrashingOperation, operations, prepareTable } from "./operations.js";

/**
 * Number of changes before which each operation is cut off: `npm run test:crash` sets more than any
 * operation has.
 */
const places = Number(process.env.JOUST_TEST_CRASH_PLACES ?? 2);
const seed = Number(process.env.JOUST_TEST_SEED ?? Date.now() % 2 ** 31);
const args = ["--maintenance", "off"];

const dir = tempDir("every-change");
afterAll(() => removeDir(dir));
const root = join(dir, "root");
/** The initial state of all operations, and the effect of one of them. */
const common = join(dir, "common");
const initial = join(dir, "kept");

function replace(target: string, source: string): void {
  rmSync(target, { recursive: true, force: true });
  cpSync(source, target, { recursive: true });
}

/** The initial state of every attempt. */
const restore = (): void => replace(root, initial);

/** Creates the root and a copy of it. */
async function make(copy: string, work: (client: Client) => Promise<unknown>): Promise<void> {
  const server = await startServer({ root, args });
  await work(server.client);
  await server.stop();
  replace(copy, root);
}

async function prepare(operation: CrashingOperation): Promise<void> {
  replace(root, common);
  if (operation.prepare) await make(initial, operation.prepare);
  else replace(initial, common);
}

/** The number of changes the operation makes in the root, and the observed state before and after it. */
async function measure(operation: CrashingOperation, faults: Faults) {
  restore();
  faults.reset();
  const server = await startServer({ root, args, env: faults.env });
  try {
    const before = await operation.state(server.client);
    const began = faults.changes;
    await operation.act(server.client, root);
    const changes = faults.changes - began;
    return { before, after: await operation.state(server.client), changes };
  } finally {
    await server.stop();
  }
}

/**
 * Runs the operation on a server that ends before one of its changes; returns whether the client got a
 * response.
 */
async function cutOff(operation: CrashingOperation, faults: Faults, change: number) {
  restore();
  faults.reset();
  const server = await startServer({ root, args, env: faults.env });
  try {
    faults.endAt(change);
    const answered = operation.act(server.client, root).then(
      () => true,
      () => false,
    );
    return await Promise.race([answered, server.exited.then(() => false)]);
  } finally {
    await server.kill();
  }
}

/** The root is consistent, and an unrelated table is unchanged. */
async function checkRoot(server: Server): Promise<void> {
  const tables = await namesOf(server, "$");
  expect(tables).toContain("other");
  // A deregistered table keeps its files.
  await checkFiles(server, tables, ["t.lance"]);
  expect(await server.client.count("other")).toBe(3);
}

describe.skipIf(!hasFaults)(
  `a server that ends before any single file change (seed ${seed})`,
  () => {
    const faults = hasFaults ? new Faults(root) : (undefined as never);
    beforeAll(() => make(common, prepareTable));

    it.each(operations)(
      "has done the operation completely or not at all: $name",
      async (operation) => {
        await prepare(operation);
        const { before, after, changes } = await measure(operation, faults);
        expect(after, "the operation does something").not.toEqual(before);
        expect(changes, "changes of the file system").toBeGreaterThan(0);
        // Each run takes other changes, unless all of them are tested.
        const step = Math.max(1, Math.ceil(changes / places));
        const first = 1 + Math.floor(random(seed)() * step);
        for (let change = first; change <= changes; change += step) {
          const answered = await cutOff(operation, faults, change);
          const server = await startServer({ root, args });
          try {
            const where = `ended before change ${change} of ${changes}`;
            let state = await operation.state(server.client);
            if (operation.resumes) {
              // A repeated request continues the operation, or starts it if nothing was left.
              await operation.act(server.client, root);
              state = await operation.state(server.client);
              expect(state, where).toEqual(after);
            } else {
              expect([before, after], where).toContainEqual(state);
              if (answered) expect(state, `${where}, after it was answered`).toEqual(after);
              if (JSON.stringify(state) === JSON.stringify(before)) {
                await operation.act(server.client, root);
                expect(await operation.state(server.client), `${where}, done again`).toEqual(after);
              }
            }
            await checkRoot(server);
          } finally {
            await server.stop();
          }
        }
        console.log(`${operation.name}: ${changes} changes`);
      },
      600_000,
    );
  },
);
