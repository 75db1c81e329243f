import { beforeAll, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import type { Client } from "../harness/client.js";
import { waitForJob } from "../harness/jobs.js";
import { waitFor } from "../harness/wait-for.js";
import { describeOnSharedRoots } from "./shared-roots.js";

describeOnSharedRoots((root) => {
  let clients: [Client, Client];
  beforeAll(async () => {
    const keep = ["--keep-versions", "1s"];
    clients = [(await root.serve(...keep)).client, (await root.serve(...keep)).client];
  }, 60_000);

  const locationOf = async (client: Client, id: string): Promise<string> =>
    (await client.ok(`/v1/table/${id}/describe`)).location;
  const clone = (client: Client, id: string, source_location: string) =>
    client.post(`/v1/table/${id}/clone`, { source_location });
  /** Reads the data files, unlike `count_rows` without a condition. */
  const rowsOf = async (client: Client, id: string): Promise<number> =>
    (await client.query(id, { k: 1_000, vector: {} })).numRows;

  it("a clone that one server makes while another drops the source is whole or is none", {
    timeout: 120_000,
  }, async () => {
    const [first, second] = clients;
    const outcomes = new Set<number>();
    for (let round = 0; round < 12; round++) {
      const source = `source${round}`;
      await first.createTable(source, items(40));
      const location = await locationOf(first, source);
      const clones = [0, 1, 2].map((n) => `clone${round}x${n}`);
      const [dropped, ...answers] = await Promise.all([
        // In the last round the clones are first, also on a busy machine.
        new Promise((resolve) => setTimeout(resolve, round < 11 ? 6 * round : 1_000)).then(() =>
          first.post(`/v1/table/${source}/drop`),
        ),
        ...clones.map((id) => clone(second, id, location)),
      ]);
      expect(dropped.status).toBe(200);
      for (const [n, answer] of answers.entries()) {
        const id = clones[n] as string;
        outcomes.add(answer.status);
        if (answer.status === 200) {
          for (const client of clients) expect(await rowsOf(client, id)).toBe(40);
          await first.ok(`/v1/table/${id}/drop`);
        } else {
          expect([404, 409]).toContain(answer.status);
          expect((await second.post(`/v1/table/${id}/describe`)).status).toBe(404);
        }
      }
    }
    expect(outcomes).toContain(200);
    if (root.listing()) {
      const left = () => root.listing()?.filter((name) => /^(source|clone)/.test(name)) ?? [];
      await waitFor("all files are removed", () => left().length === 0, { timeoutMs: 60_000 });
    }
  });

  it("the version clean-up of one server keeps what the clones of another read", {
    timeout: 120_000,
  }, async () => {
    const [first, second] = clients;
    await first.createTable("busy", items(20));
    const location = await locationOf(first, "busy");
    let made = 0;
    for (let round = 0; round < 8; round++) {
      const [answer] = await Promise.all([
        clone(second, `kept${round}`, location),
        first.createTable("busy", items(20, { from: 100 * round }), { mode: "overwrite" }),
        first.ok("/v1/table/busy/compact", {}).then(({ job_id }) => waitForJob(first, job_id)),
      ]);
      // The cloned version may be about to be removed.
      expect([200, 503]).toContain(answer.status);
      if (answer.status === 200) made++;
      await new Promise((resolve) => setTimeout(resolve, 700));
    }
    await waitFor(
      "only the newest version and those of clones are left",
      async () => {
        const { versions } = await first.ok("/v1/table/busy/version/list");
        return versions.length <= made + 1;
      },
      { timeoutMs: 60_000 },
    );
    for (let round = 0; round < 8; round++) {
      const exists = await first.post(`/v1/table/kept${round}/exists`);
      if (exists.status === 200) expect(await rowsOf(first, `kept${round}`)).toBe(20);
    }
  });
});
