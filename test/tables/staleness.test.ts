import { tableFromIPC } from "apache-arrow";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import type { Answer } from "../harness/client.js";
import { expectFailure } from "../harness/expect-failure.js";
import { type S3, s3Missing, startS3 } from "../harness/s3.js";
import { type Server, startServer } from "../harness/server.js";
import { removeDir, tempDir } from "../harness/temp.js";

const query = { k: 1000, vector: {}, columns: { column_names: ["id"] } };

/** Reads, and the row count (10 per version) or version number in their response. */
const reads: [
  operation: string,
  body: object,
  observe: (answer: Answer) => unknown,
  of: (version: number) => unknown,
][] = [
  ["describe", {}, ({ json }) => json.version, (version) => version],
  ["exists", {}, ({ headers }) => headers.get("x-lancedb-version"), String],
  ["count_rows", {}, ({ json }) => json, (version) => version * 10],
  ["stats", {}, ({ json }) => json.num_rows, (version) => version * 10],
  ["query", query, ({ bytes }) => tableFromIPC(bytes).numRows, (version) => version * 10],
  [
    "analyze_plan",
    query,
    ({ json }) => /output_rows=(\d+)/.exec(json)?.[1],
    (version) => String(version * 10),
  ],
  ["version/describe", {}, ({ json }) => json.version.version, (version) => version],
];

describe.skipIf(s3Missing)("a server with --staleness 3600s", () => {
  let s3: S3;
  let directory: string;
  let other: Server;
  let stale: Server;

  beforeAll(async () => {
    s3 = await startS3();
    const root = `${s3.createBucket()}/tables`;
    directory = tempDir("staleness");
    const start = (name: string, ...args: string[]) =>
      startServer({ root, env: s3.env, args: ["--catalog", `${directory}/${name}.db`, ...args] });
    other = await start("other");
    stale = await start("stale", "--staleness", "3600s");
  });
  afterAll(async () => {
    await Promise.all([other?.stop(), stale?.stop()]);
    await s3?.stop();
    removeDir(directory);
  });

  let turn = 0;
  let id: string;
  /** The stale server has cached version 1, and the other one has created version 2. */
  beforeEach(async () => {
    id = `t${turn++}`;
    await other.client.createTable(id, items(10));
    // The stale server may have adopted the table already.
    await stale.client.post(`/v1/table/${id}/register`, { location: `${id}.lance` });
    expect(await stale.client.count(id)).toBe(10);
    await other.client.insert(id, items(10, { from: 10 }));
  });

  const send = ([operation, body]: (typeof reads)[number], headers = {}, more = {}) =>
    stale.client.request(`/v1/table/${id}/${operation}`, { body: { ...body, ...more }, headers });
  const newer = { "x-lancedb-min-timestamp": new Date(Date.now() + 600_000).toISOString() };

  it.each(reads)("may answer from its cached version: %s", async (...read) => {
    const [operation, , observe, of] = read;
    // Version listings always read the store.
    if (operation === "version/describe") return;
    expect(observe(await send(read))).toEqual(of(1));
  });

  it.each(reads)("reads the latest version for a minimum timestamp: %s", async (...read) => {
    const [, , observe, of] = read;
    expect(observe(await send(read, newer))).toEqual(of(2));
  });

  it.each(reads)("reads the latest version for a minimum version: %s", async (...read) => {
    const [operation, , observe, of] = read;
    const names = ["x-lancedb-min-version", "x-lancedb-min-read-version"];
    for (const [at, name] of names.entries()) {
      const version = 2 + at;
      if (at > 0) await other.client.insert(id, items(10, { from: 20 }));
      const known = observe(await send(read, { [name]: String(version - 1) }));
      if (operation !== "version/describe") expect(known).toEqual(of(version - 1));
      expect(observe(await send(read, { [name]: String(version) }))).toEqual(of(version));
      // Without such a version the latest one is returned.
      expect(observe(await send(read, { [name]: "99" }))).toEqual(of(version));
    }
  });

  // Statistics are always those of the latest version.
  const pinned = reads.filter(([operation]) => operation !== "stats");

  it.each(pinned)("finds an explicitly requested newer version: %s", async (...read) => {
    const [, , observe, of] = read;
    expect(observe(await send(read, {}, { version: 2 }))).toEqual(of(2));
    expect(observe(await send(read, {}, { version: 1 }))).toEqual(of(1));
    expectFailure(await send(read, {}, { version: 3 }), 404, 11);
  });

  it("sees its own writes at once, on top of other servers' writes", async () => {
    const { version } = await stale.client.insert(id, items(10, { from: 20 }));
    expect(version).toBe(3);
    for (const read of reads) {
      const [, , observe, of] = read;
      expect(observe(await send(read))).toEqual(of(3));
    }
  });

  it("lists a new table for a request with a minimum timestamp", async () => {
    for (const path of ["/v1/table", "/v1/namespace/$/table/list"]) {
      const late = `late-${turn++}`;
      await other.client.createTable(late, items(1));
      const now = { "x-lancedb-min-timestamp": new Date().toISOString() };
      const listed = await stale.client.request(path, { method: "GET", headers: now });
      expect(listed.json.tables).toContain(late);
    }
  });
});
