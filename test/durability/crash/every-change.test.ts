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

/** Changes before which each operation is cut off: `npm run test:crash` sets more than any has. */
const places = Number(process.env.JOUST_TEST_CRASH_PLACES ?? 2);
const seed = Number(process.env.JOUST_TEST_SEED ?? Date.now() % 2 ** 31);
const args = ["--maintenance", "off"];

const dir = tempDir("every-change");
afterAll(() => removeDir(dir));
const root = join(dir, "root");
/** What all operations begin with, and what one does. */
const common = join(dir, "common");
const kept = join(dir, "kept");

function replace(target: string, source: string): void {
  rmSync(target, { recursive: true, force: true });
  cpSync(source, target, { recursive: true });
}

/** The state that every attempt begins with. */
const restore = (): void => replace(root, kept);

/** Makes the root, and a copy of it. */
async function make(copy: string, work: (client: Client) => Promise<unknown>): Promise<void> {
  const server = await startServer({ root, args });
  await work(server.client);
  await server.stop();
  replace(copy, root);
}

async function prepare(operation: CrashingOperation): Promise<void> {
  replace(root, common);
  if (operation.prepare) await make(kept, operation.prepare);
  else replace(kept, common);
}

/** Changes that the operation makes to the root, and what is told before and after it. */
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

/** Runs the operation on a server that ends before one of its changes; whether it was answered. */
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

/** All is well on this root, and the table that nobody touched is as it was. */
async function checkRoot(server: Server): Promise<void> {
  const tables = await namesOf(server, "$");
  expect(tables).toContain("other");
  // One that was deregistered keeps its files.
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
        // Other ones in each run, unless all of them have their turn.
        const step = Math.max(1, Math.ceil(changes / places));
        const first = 1 + Math.floor(random(seed)() * step);
        for (let change = first; change <= changes; change += step) {
          const answered = await cutOff(operation, faults, change);
          const server = await startServer({ root, args });
          try {
            const where = `ended before change ${change} of ${changes}`;
            let state = await operation.state(server.client);
            if (operation.resumes) {
              // Asked for again it goes on, or begins when there was nothing to go on with.
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
