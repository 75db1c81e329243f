import { beforeAll, expect, it, onTestFinished } from "vitest";
import { emptyStream, stream, type } from "../harness/arrow.js";
import type { Answer, Client, Json } from "../harness/client.js";
import { slowExpression } from "../harness/jobs.js";
import type { Server } from "../harness/server.js";
import { waitFor } from "../harness/wait-for.js";
import { describeOnSharedRoots } from "./shared-roots.js";

const rows = (from: number, count: number): Uint8Array =>
  stream({
    id: [type.i32, Array.from({ length: count }, (_, index) => from + index)],
    name: [type.text, Array.from({ length: count }, (_, index) => `row ${from + index}`)],
  });
const noRows = emptyStream({ id: type.i32, name: type.text });

const statuses = (answers: readonly Answer[]): number[] =>
  answers.map((answer) => answer.status).sort((a, b) => a - b);

describeOnSharedRoots((root) => {
  let servers: [Server, Server];
  let clients: [Client, Client];
  beforeAll(async () => {
    servers = [await root.serve(), await root.serve()];
    clients = [servers[0].client, servers[1].client];
  }, 60_000);

  /** Sends requests to both servers at once, several times each. */
  const both = (times: number, send: (client: Client, index: number) => Promise<Answer>) =>
    Promise.all(
      Array.from({ length: 2 * times }, (_, index) => send(clients[index % 2] as Client, index)),
    );

  it("each server sees the other's writes at once", async () => {
    const [first, second] = clients;
    for (let n = 0; n < 5; n++) {
      const [writer, reader] = n % 2 ? [first, second] : [second, first];
      await writer.createTable(`seen${n}`, rows(0, 3));
      expect(await reader.count(`seen${n}`)).toBe(3);
      await reader.insert(`seen${n}`, rows(3, 2));
      expect(await writer.count(`seen${n}`)).toBe(5);
      await writer.ok(`/v1/table/seen${n}/delete`, { predicate: "id < 2" });
      expect(await reader.count(`seen${n}`)).toBe(3);
      await reader.ok(`/v1/table/seen${n}/drop`);
      expect((await writer.post(`/v1/table/seen${n}/describe`)).status).toBe(404);
    }
  });

  it("a branch that one server deletes and creates again is read correctly by the other server", async () => {
    const [first, second] = clients;
    const [id, branch] = ["forked", "b"];
    const branches = (operation: string, from_version?: number) =>
      first.ok(`/v1/table/${id}/branches/${operation}`, { name: branch, from_version });
    await first.createTable(id, rows(0, 3));
    await first.insert(id, rows(3, 2));
    for (const [version, count] of [
      [2, 5],
      [1, 3],
    ] as const) {
      await branches("create", version);
      expect(await second.count(id, { branch })).toBe(count);
      await branches("delete");
      const gone = await second.post(`/v1/table/${id}/count_rows`, { branch });
      expect([gone.status, gone.json.code]).toEqual([404, 22]);
    }
  });

  it("concurrent inserts, updates, deletes and merges on both servers lose nothing", async () => {
    await clients[0].createTable("busy", rows(0, 100));
    const path = "/v1/table/busy";
    const answers = await both(24, (client, index) => {
      if (index % 12 === 4) {
        return client.post(`${path}/update`, { updates: [["name", "name || '+'"]] });
      }
      if (index % 12 === 9) return client.post(`${path}/delete`, { predicate: `id = ${index}` });
      if (index % 12 === 6) {
        const params = { on: "id", when_not_matched_insert_all: "true" };
        return client.post(`${path}/merge_insert`, rows(1_000 + 10 * index, 10), params);
      }
      return client.post(`${path}/insert`, rows(1_000 + 10 * index, 10));
    });
    // A change that conflicts with the other server may be rejected, and then has no effect.
    const made = (kind: (index: number) => boolean) =>
      answers.filter((answer, index) => kind(index) && answer.status === 200).length;
    const refused = answers.filter((answer) => answer.status !== 200);
    expect(refused.map((answer) => [answer.status, answer.json.code])).toEqual(
      refused.map(() => [409, 14]),
    );
    const inserts = made((index) => ![4, 9].includes(index % 12));
    expect(
      made((index) => ![4, 6, 9].includes(index % 12)),
      "appends never conflict",
    ).toBe(36);
    const deletes = made((index) => index % 12 === 9);
    const updates = made((index) => index % 12 === 4);
    for (const client of clients) {
      expect(await client.count("busy")).toBe(100 - deletes + 10 * inserts);
      // Row 0 existed from the start.
      const zero = await client.query("busy", { filter: "id = 0", columns: ["name"] });
      expect(zero.getChild("name")?.get(0)).toBe(`row 0${"+".repeat(updates)}`);
    }
  });

  it("exactly one of many concurrent creates, renames or drops on both servers succeeds", async () => {
    for (let round = 0; round < 4; round++) {
      const name = `race${round}`;
      const created = await both(3, (client, index) =>
        client.post(`/v1/table/${name}/create`, rows(index, 1)),
      );
      expect(statuses(created)).toEqual([200, 409, 409, 409, 409, 409]);
      expect(await clients[1].count(name)).toBe(1);

      const renamed = await both(3, (client) =>
        client.post(`/v1/table/${name}/rename`, { new_table_name: `${name}-new` }),
      );
      expect(statuses(renamed)).toEqual([200, 404, 404, 404, 404, 404]);
      const dropped = await both(3, (client) => client.post(`/v1/table/${name}-new/drop`));
      expect(statuses(dropped)).toEqual([200, 404, 404, 404, 404, 404]);
      for (const client of clients) {
        const { tables } = (await client.get("/v1/namespace/$/table/list")).json;
        expect(tables.filter((table: string) => table.startsWith(name))).toEqual([]);
      }
    }
  });

  it("a table that one server drops while the other writes stays dropped", {
    timeout: 60_000,
  }, async () => {
    const [first, second] = clients;
    for (let round = 0; round < 4; round++) {
      await first.createTable("dropped", noRows);
      let stop = false;
      onTestFinished(() => {
        stop = true;
      });
      const writing = Array.from({ length: 4 }, async (_, writer) => {
        const seen = new Set<number>();
        while (!stop) {
          const answer = await second.post("/v1/table/dropped/insert", rows(writer, 1));
          seen.add(answer.status);
        }
        return seen;
      });
      await waitFor("rows arrive", async () => (await first.count("dropped")) > 4);
      await first.ok("/v1/table/dropped/drop");
      stop = true;
      const seen = new Set((await Promise.all(writing)).flatMap((some) => [...some]));
      for (const status of seen) expect([200, 404]).toContain(status);
      for (const client of clients) {
        expect((await client.post("/v1/table/dropped/describe")).status).toBe(404);
      }
      expect(root.listing()?.filter((name) => name.startsWith("dropped")) ?? []).toEqual([]);
    }
  });

  it("a table that replaces a dropped table contains only its own rows", {
    timeout: 60_000,
  }, async () => {
    const [first, second] = clients;
    await first.createTable("again", rows(0, 1));
    let stop = false;
    onTestFinished(() => {
      stop = true;
    });
    const writing = Array.from({ length: 4 }, async () => {
      while (!stop) await second.post("/v1/table/again/insert", rows(0, 1));
    });
    for (let round = 1; round <= 5; round++) {
      await first.ok("/v1/table/again/drop");
      await first.createTable("again", stream({ other: [type.i32, [round]] }));
      const result = await second.query("again", { columns: ["other"] });
      expect([...(result.getChild("other") ?? [])]).toEqual([round]);
      await first.ok("/v1/table/again/drop");
      await first.createTable("again", rows(0, 1));
    }
    stop = true;
    await Promise.all(writing);
    const table = await second.query("again", { k: 10_000, columns: ["id"] });
    expect(new Set(table.getChild("id"))).toEqual(new Set([0]));
    await first.ok("/v1/table/again/drop");
  });

  it("two servers maintain a table with one shared set of jobs", { timeout: 60_000 }, async () => {
    await clients[0].createTable("kept", rows(0, 1));
    // One after another: concurrent inserts would share a commit.
    for (let n = 0; n < 40; n++) await clients[n % 2]?.insert("kept", rows(1 + n, 1));
    const jobs = async (client: Client): Promise<Json[]> =>
      (await client.ok("/v1/jobs/list", { limit: 1_000 })).jobs.filter(
        (job: Json) => job.table === "kept" && job.job_type === "maintenance",
      );
    await waitFor("the table is compacted", async () => {
      const { fragment_stats } = await clients[1].ok("/v1/table/kept/stats");
      return fragment_stats.num_fragments < 16;
    });
    const seen = await Promise.all(clients.map(jobs));
    expect(seen[0]?.length).toBeGreaterThan(0);
    const ids = seen.map((list) => list.map((job) => job.job_id).sort());
    expect(ids[0]).toEqual(ids[1]);
    expect(await clients[1].count("kept")).toBe(41);
  });

  it("a job of a killed server is continued by another server", { timeout: 120_000 }, async () => {
    const third = await root.serve();
    const [, second] = clients;
    await third.client.createTable("filled", rows(0, 100_000));
    const column = { name: "hash", computed: slowExpression("name") };
    await third.client.ok("/v1/table/filled/add_columns", { new_columns: [column] });
    // No other server claims jobs of a table with a running job: this one runs on the third server.
    const { job_id } = await third.client.ok("/v1/table/filled/backfill_column", {
      column: "hash",
    });
    const job = () => second.ok("/v1/jobs/describe", { job_id });
    await waitFor("it runs", async () => (await job()).job_state === "IN_PROGRESS");
    await third.kill();
    const done = await waitFor(
      "another server does it",
      async () => {
        const { job_state } = await job();
        return ["DONE", "FAILED", "CANCELLED"].includes(job_state) && job_state;
      },
      { timeoutMs: 100_000 },
    );
    expect(done).toBe("DONE");
    expect(await second.count("filled", { predicate: "hash is not null" })).toBe(100_000);
  });
});
