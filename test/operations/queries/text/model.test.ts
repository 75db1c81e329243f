import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { random, stream, type } from "../../../harness/arrow.js";
import { waitForIndex } from "../../../harness/indexes.js";
import { waitForJobResult } from "../../../harness/jobs.js";
import { type Server, startServer } from "../../../harness/server.js";
import { removeDir, tempDir } from "../../../harness/temp.js";
import { waitFor } from "../../../harness/wait-for.js";
import { type Query, search, structure, type Text } from "./oracle.js";
import { structured, textIndex } from "./text-tables.js";

/** Number of unindexed rows that triggers index maintenance, and the maximum number of rows. */
const many = 300;
const most = 2_000;

let root: string;
let server: Server;
beforeAll(async () => {
  root = tempDir("text-model");
  server = await startServer({ root });
});
afterAll(async () => {
  await server?.stop();
  removeDir(root);
});

/** Kills the server at any point and restarts it. */
async function crash(): Promise<void> {
  await server.kill();
  server = await startServer({ root });
}

/** The index splits texts at spaces, like the model. */
const plainly = {
  base_tokenizer: "whitespace",
  lower_case: false,
  stem: false,
  remove_stop_words: false,
  ascii_folding: false,
  with_position: true,
};

const seconds = Number(process.env.JOUST_MODEL_SECONDS ?? 20);
const seed = Number(process.env.JOUST_TEST_SEED ?? Date.now() % 2 ** 31);

/** The versions of a branch; `undefined` is main. Rows are never changed, only replaced. */
interface Branch {
  readonly name: string | undefined;
  readonly versions: Map<number, readonly Text[]>;
}

it(
  "a text search at any version equals a simple model after any sequence of changes",
  async () => {
    console.log(`text model test: JOUST_TEST_SEED=${seed} JOUST_MODEL_SECONDS=${seconds}`);
    const end = Date.now() + seconds * 1000;
    for (let round = 0; round === 0 || Date.now() < end; round++) {
      await life(seed + round, `t${round}`, end);
    }
  },
  (seconds + 60) * 1000,
);

async function life(seed: number, id: string, end: number): Promise<void> {
  let { client } = server;
  const next = random(seed);
  const below = (n: number) => Math.floor(next() * n);
  const pick = <T>(all: readonly T[]): T => all[below(all.length)] as T;
  const word = () => `w${below(1 + below(12))}`;
  const text = () =>
    below(12) === 0 ? null : Array.from({ length: 1 + below(20) }, word).join(" ");
  let newest = 0;
  const fresh = (): Text => ({ id: newest++, text: text() });
  const body = (rows: readonly Text[]) =>
    stream({
      id: [type.i64, rows.map((row) => BigInt(row.id))],
      text: [type.text, rows.map((row) => row.text)],
      other: [type.i64, rows.map(() => BigInt(below(3)))],
    });
  const history: string[] = [];
  const path = (operation: string) => `/v1/table/${id}/${operation}`;

  const first = Array.from({ length: 20 }, fresh);
  await client.createTable(id, body(first));
  const branches: Branch[] = [{ name: undefined, versions: new Map() }];
  const version = async (branch: Branch): Promise<number> => {
    const on = branch.name === undefined ? {} : { branch: branch.name };
    return (await client.ok(path("describe"), on)).version;
  };
  const current = (branch: Branch) => {
    const [number, rows] = [...branch.versions].at(-1) as [number, readonly Text[]];
    return { number, rows };
  };
  const keep = async (branch: Branch, rows: readonly Text[]) => {
    branch.versions.delete(await version(branch));
    branch.versions.set(await version(branch), rows);
  };
  // Versions before the index exists are searched with another query.
  await textIndex(client, id, { column: "text", ...plainly });
  await keep(branches[0] as Branch, first);

  const some = (rows: readonly Text[]) => {
    const [modulus, rest] = [2 + below(4), below(2)];
    const sql = `id % ${modulus} = ${rest}`;
    return { sql, has: (row: Text) => row.id % modulus === rest, rows };
  };

  const rebuild = () => {
    const index = { column: "text", index_type: "FTS", replace: true, ...plainly };
    return client.ok(path("create_index"), index);
  };
  const optimized = () =>
    waitFor(
      "the index has all rows",
      async () => (await waitForIndex(client, id, "text_idx")).num_unindexed_rows < many,
      { timeoutMs: 60_000 },
    );
  const crashed = async () => {
    await crash();
    client = server.client;
    await waitForIndex(client, id, "text_idx");
  };

  const steps: Record<string, (branch: Branch, rows: readonly Text[]) => Promise<readonly Text[]>> =
    {
      async append(branch, rows) {
        const more = Array.from({ length: 1 + below(8) }, fresh);
        await client.insert(id, body(more), on(branch));
        return [...rows, ...more];
      },
      async "many rows"(branch, rows) {
        if (rows.length > most) return rows;
        const more = Array.from({ length: many }, fresh);
        await client.insert(id, body(more), on(branch));
        if (branch.name === undefined && below(2) === 0) await optimized();
        return [...rows, ...more];
      },
      async "a crash while rows are indexed"(branch, rows) {
        if (branch.name !== undefined || rows.length > most) return rows;
        const more = Array.from({ length: many }, fresh);
        await client.insert(id, body(more));
        // Maintenance starts some seconds after the last write.
        await sleep(2_900 + below(1_600));
        await crashed();
        return [...rows, ...more];
      },
      async "a crash during a rebuild"(branch, rows) {
        if (branch.name !== undefined) return rows;
        await rebuild();
        await sleep(below(150));
        await crashed();
        return rows;
      },
      async compaction(branch, rows) {
        const { job_id } = await client.ok(path("compact"), on(branch));
        await waitForJobResult(client, job_id);
        return rows;
      },
      async "deletion of most rows"(branch, rows) {
        await client.ok(path("delete"), { predicate: "id % 7 > 0", ...on(branch) });
        return rows.filter((row) => row.id % 7 === 0);
      },
      async delete(branch, rows) {
        const { sql, has } = some(rows);
        const predicate = `${sql} AND id > ${newest - 15}`;
        await client.ok(path("delete"), { predicate, ...on(branch) });
        return rows.filter((row) => !(has(row) && row.id > newest - 15));
      },
      async "update of the text"(branch, rows) {
        const { sql, has } = some(rows);
        const words = text() ?? "w0";
        const updates = [["text", `'${words}'`]];
        await client.ok(path("update"), { predicate: sql, updates, ...on(branch) });
        return rows.map((row) => (has(row) ? { id: row.id, text: words } : row));
      },
      async "update of another column"(branch, rows) {
        const { sql } = some(rows);
        const updates = [["other", "other + 1"]];
        await client.ok(path("update"), { predicate: sql, updates, ...on(branch) });
        return rows;
      },
      async merge(branch, rows) {
        const known = rows
          .filter(() => below(4) === 0)
          .map((row) => ({ id: row.id, text: text() }));
        const source = [...known, fresh()];
        const params = { on: "id", when_matched_update_all: "true" };
        const insert = { when_not_matched_insert_all: "true" };
        await client.ok(path("merge_insert"), body(source), {
          ...params,
          ...insert,
          ...on(branch),
        });
        const merged = new Map(source.map((row) => [row.id, row]));
        const kept = rows.map((row) => merged.get(row.id) ?? row);
        const had = new Set(rows.map((row) => row.id));
        return [...kept, ...source.filter((row) => !had.has(row.id))];
      },
      async restore(branch, rows) {
        if (branch.name !== undefined) return rows;
        const [number, old] = pick([...branch.versions]);
        await client.ok(path("restore"), { version: number });
        return old;
      },
      async rebuild(branch, rows) {
        if (branch.name !== undefined) return rows;
        await rebuild();
        await waitForIndex(client, id, "text_idx");
        return rows;
      },
      async "a rebuild that is given up"(branch, rows) {
        if (branch.name !== undefined) return rows;
        await rebuild();
        await sleep(below(30));
        const { jobs } = await client.ok("/v1/jobs/list", {});
        for (const { job_id, table } of jobs) {
          if (table === id) await client.ok("/v1/jobs/cancel", { job_id });
        }
        await waitForIndex(client, id, "text_idx");
        return rows;
      },
      async branch(branch, rows) {
        if (branches.length > 2 || branch.name !== undefined) return rows;
        const name = `b${branches.length}`;
        await client.ok(path("branches/create"), { name });
        const fork: Branch = { name, versions: new Map() };
        fork.versions.set(await version(fork), rows);
        branches.push(fork);
        return rows;
      },
    };

  for (let step = 0; step < 30 && Date.now() < end; step++) {
    const branch = pick(branches);
    const name = pick(["append", "append", "append", ...Object.keys(steps)]);
    history.push(`${name} on ${branch.name ?? "main"}`);
    const change = steps[name] as (typeof steps)[string];
    await keep(branch, await change(branch, current(branch).rows));
    for (let send = 0; send < 4; send++) {
      const asked = pick(branches);
      const [number, rows] =
        below(2) === 0 ? pick([...asked.versions]) : [undefined, current(asked).rows];
      await compare(asked, number, rows);
    }
  }

  async function compare(branch: Branch, number: number | undefined, rows: readonly Text[]) {
    const leaf = (): Query =>
      below(4) === 0
        ? { kind: "phrase", words: [word(), word()] }
        : { kind: "match", words: distinct(1 + below(3)), all: below(3) === 0 };
    const leaves = (n: number) => Array.from({ length: below(n) }, leaf);
    const boolean = (): Query => {
      const must = leaves(3);
      return {
        kind: "boolean",
        must,
        should: must.length > 0 ? leaves(3) : [leaf()],
        not: leaves(2),
      };
    };
    const query = below(3) === 0 ? boolean() : leaf();
    const filter = below(3) === 0 ? some(rows) : undefined;
    const k = pick([1, 5, 100]);
    const result = await client.query(id, {
      k,
      vector: {},
      ...structured(structure("text", query)),
      ...(number !== undefined && { version: number }),
      ...(filter && { filter: filter.sql }),
      ...on(branch),
    });
    const expected = [...search(rows, query)]
      .filter(([row]) => filter === undefined || filter.has({ id: row, text: "" }))
      .sort(([, a], [, b]) => b - a);
    const context = () =>
      `seed ${seed}, ${branch.name ?? "main"} at ${number ?? "newest"}, after\n${history.join("\n")}\n${JSON.stringify({ query, filter: filter?.sql, k })}`;
    const hits = result.toArray().map((row) => ({ id: Number(row.id), score: row._score }));
    expect(hits.length, context()).toBe(Math.min(k, expected.length));
    const scores = new Map(expected);
    hits.forEach((hit, rank) => {
      const [, score] = expected[rank] as [number, number];
      expect(hit.score, context()).toBeCloseTo(score, 3);
      expect(scores.get(hit.id), context()).toBeCloseTo(hit.score, 3);
    });
  }

  function distinct(n: number): string[] {
    return [...new Set(Array.from({ length: n }, word))];
  }
}

const on = (branch: Branch): { branch?: string } =>
  branch.name === undefined ? {} : { branch: branch.name };
