import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Client } from "../../harness/client.js";
import { newKey, type Server, startServer } from "../../harness/server.js";
import { removeDir, tempDir } from "../../harness/temp.js";
import { describeOnSharedRoots } from "../shared-roots.js";
import { prepare, runHistory } from "./run.js";

/** `JOUST_TEST_SEED=7` runs that seed only, `JOUST_TEST_SEEDS=200` runs 200 seeds. */
const only = process.env.JOUST_TEST_SEED;
const seedsOf = (usual: number): number[] => {
  if (only !== undefined) return [Number(only)];
  return Array.from({ length: Number(process.env.JOUST_TEST_SEEDS ?? usual) }, (_, n) => n + 1);
};

// Maintenance commits would add versions.
const args = ["--maintenance", "off"];

async function expectLinearizable(seed: number, clients: readonly Client[]): Promise<void> {
  const { violations, failures, unanswered } = await runHistory(seed, clients);
  expect(violations, `seed ${seed}`).toEqual([]);
  expect(failures, `seed ${seed}`).toEqual([]);
  expect(unanswered, `seed ${seed}`).toBe(0);
}

describe("concurrent histories of one server", () => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer({ args });
    await prepare(server.client);
  });
  afterAll(() => server.stop());
  it.each(seedsOf(5))("are linearizable on one server (seed %i)", (seed) =>
    expectLinearizable(seed, [server.client]),
  );
});

describe("concurrent histories of two servers of two threads each, on one directory", () => {
  const [root, key] = [tempDir("histories"), newKey()];
  const servers: Server[] = [];
  beforeAll(async () => {
    for (let number = 0; number < 2; number++) {
      servers.push(await startServer({ root, key, args: [...args, "--http-threads", "2"] }));
    }
    await prepare(clients()[0] as Client);
  });
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    removeDir(root);
  });
  const clients = () => servers.map(({ client }) => client);
  it.each(seedsOf(20))("are linearizable on two servers (seed %i)", (seed) =>
    expectLinearizable(seed, clients()),
  );
});

describeOnSharedRoots((root) => {
  describe("concurrent histories of two servers, one of which is killed and started again", () => {
    let servers: Server[];
    beforeAll(async () => {
      servers = [await root.serve(...args), await root.serve(...args)];
      await prepare((servers[0] as Server).client);
    }, 60_000);
    it.each(seedsOf(1))(
      "are linearizable while a server is killed and restarted (seed %i)",
      async (seed) => {
        const clients = () => servers.map(({ client }) => client);
        const running = runHistory(seed, clients(), `k${seed}`);
        // Long enough for some requests to be in flight and for others to be pending.
        await delay(300);
        await servers[1]?.kill();
        const { violations } = await running;
        expect(violations, `seed ${seed}`).toEqual([]);
        servers[1] = await root.serve(...args);
        await expectLinearizable(seed, clients());
      },
      120_000,
    );
  });
});
