import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { items } from "../../../harness/arrow.js";
import { expectFailure } from "../../../harness/expect-failure.js";
import { setupServer } from "../../../harness/setup-server.js";

const joust = setupServer();
const post = (path: string, body: object) => joust.client.post(path, body);
const createVersion = (id: string, body: object) => post(`/v1/table/${id}/version/create`, body);
const exists = async (id: string, version: number) =>
  (await post(`/v1/table/${id}/exists`, { version })).status === 200;
const versionsOf = async (id: string) =>
  (await joust.client.ok(`/v1/table/${id}/version/list`)).versions.map(
    (one: { version: number }) => one.version,
  );

/** Manifest name of a version in the V2 scheme. */
const manifestName = (version: number) =>
  `${(2n ** 64n - 1n - BigInt(version)).toString().padStart(20, "0")}.manifest`;

/**
 * A table with `rows` rows in version 1, and a staged manifest of version 2 with one more row. The
 * manifest and its files come from a copy of the table with an additional insert.
 */
async function staged(id: string, rows = 3): Promise<{ location: string; manifest_path: string }> {
  const { client, root } = joust;
  const { location } = await client.createTable(id, items(rows));
  cpSync(location, join(root, "copies", id), { recursive: true });
  await client.ok(`/v1/table/copy-${id}/register`, { location: `copies/${id}` });
  await client.insert(`copy-${id}`, items(1));
  const copy = join(root, "copies", id);
  for (const folder of ["data", "_transactions"]) {
    if (existsSync(join(copy, folder))) {
      cpSync(join(copy, folder), join(location, folder), { recursive: true });
    }
  }
  const manifest_path = join(location, "_versions", `${manifestName(2)}-staged`);
  cpSync(join(copy, "_versions", manifestName(2)), manifest_path);
  return { location, manifest_path };
}

let turn = 0;
let id: string;
let given: { location: string; manifest_path: string };
beforeEach(async () => {
  id = `t${turn++}`;
  given = await staged(id);
});

describe("create version", () => {
  it("turns the staged manifest into a version that is readable at once", async () => {
    const { manifest_path } = given;
    const manifest_size = readFileSync(manifest_path).length;
    const answer = await createVersion(id, {
      version: 2,
      manifest_path,
      manifest_size,
      naming_scheme: "V2",
      metadata: { a: "b" },
    });
    expect(answer.json).toEqual({
      transaction_id: expect.any(String),
      version: {
        version: 2,
        manifest_path: expect.stringMatching(/_versions\/\d{20}\.manifest$/),
        manifest_size,
        e_tag: expect.any(String),
        timestamp_millis: expect.any(Number),
      },
    });
    expect(await joust.client.count(id)).toBe(4);
    expect(await joust.client.count(id, { version: 1 })).toBe(3);
    expect(existsSync(manifest_path)).toBe(false);
    // A client without a response retries.
    expect((await createVersion(id, { version: 2, manifest_path })).status).toBe(200);
  });

  it("conflicts with another manifest for the same version", async () => {
    const { manifest_path } = given;
    await joust.client.insert(id, items(5));
    expectFailure(await createVersion(id, { version: 2, manifest_path }), 409, 14, /version 2/);
    expect(await joust.client.count(id)).toBe(8);
  });

  it("conflicts with an existing version, whatever the client's manifest is", async () => {
    const { manifest_path, location } = given;
    const junk = join(location, "_versions", "junk");
    writeFileSync(junk, "junk");
    for (const wanted of [
      { version: 1, manifest_path },
      { version: 1, manifest_path, manifest_size: 7 },
      { version: 1, manifest_path: junk },
    ]) {
      expectFailure(await createVersion(id, wanted), 409, 14, /version 1/);
    }
    expect(await versionsOf(id)).toEqual([1]);
    expect(existsSync(manifest_path)).toBe(true);
  });

  it("conflicts with a concurrent commit, and at least one succeeds", async () => {
    const { manifest_path } = given;
    const answers = await Promise.all([
      createVersion(id, { version: 2, manifest_path }),
      joust.client.post(`/v1/table/${id}/delete`, { predicate: "id = 0" }),
    ]);
    expect(answers.map(({ status }) => status)).toContain(200);
    const [published, deleted] = answers;
    if (published.status !== 200) expectFailure(published, 409, 14);
    expect(deleted.status).toBe(200);
  });

  it("accepts only manifests inside the table", async () => {
    const outside = join(joust.root, "secret.manifest");
    writeFileSync(outside, "secret");
    const other = await staged(`${id}-other`);
    for (const path of [
      outside,
      other.manifest_path,
      join(given.location, "..", "secret.manifest"),
      `${given.location}/../secret.manifest`,
      "/etc/hostname",
      given.location,
    ]) {
      expectFailure(await createVersion(id, { version: 2, manifest_path: path }), 400, 13);
    }
    expect(readFileSync(outside, "utf8")).toBe("secret");
    expect(existsSync(other.manifest_path)).toBe(true);
  });

  it("rejects a file that is not the manifest of that version", async () => {
    const { manifest_path, location } = given;
    const junk = join(location, "_versions", "junk");
    writeFileSync(junk, "junk");
    const wanted = { version: 2, manifest_path };
    expectFailure(await createVersion(id, { ...wanted, manifest_path: junk }), 400, 13);
    expectFailure(await createVersion(id, { ...wanted, manifest_path: `${junk}-no` }), 400, 13);
    expectFailure(await createVersion(id, { ...wanted, version: 3 }), 400, 13, /version 2/);
    expectFailure(await createVersion(id, { ...wanted, version: -1 }), 400, 13, /version/);
    expectFailure(await createVersion(id, { ...wanted, naming_scheme: "V3" }), 400, 13, /V1/);
    expectFailure(await createVersion(id, { ...wanted, branch: "no" }), 404, 22);
    expectFailure(await createVersion(id, { version: 2 }), 400, 13, /manifest_path/);
    expectFailure(await createVersion("nobody", wanted), 404, 4);
    expectFailure(await createVersion("nowhere%24t", wanted), 404, 1);
    expect(await versionsOf(id)).toEqual([1]);
  });

  it("gives a declared table its first version", async () => {
    const { client, root } = joust;
    const { location } = await client.ok(`/v1/table/first-${id}/declare`);
    cpSync(join(given.location, "data"), join(location, "data"), { recursive: true });
    mkdirSync(join(location, "_versions"));
    const manifest_path = join(location, "_versions", "1.staged");
    cpSync(join(root, `${id}.lance`, "_versions", manifestName(1)), manifest_path);
    const answer = await createVersion(`first-${id}`, { version: 1, manifest_path });
    expect(answer.status).toBe(200);
    expect(await client.count(`first-${id}`)).toBe(3);
    const path = "/v1/namespace/$/table/list";
    expect((await client.get(path, { include_declared: "false" })).json.tables).toContain(
      `first-${id}`,
    );
  });
});

describe("create versions of several tables", () => {
  const batch = (...entries: object[]) => post("/v1/table/version/batch-create", { entries });

  it("creates all of them", async () => {
    const other = await staged(`${id}-b`);
    const answer = await batch(
      { id: [id], version: 2, manifest_path: given.manifest_path },
      { id: [`${id}-b`], version: 2, manifest_path: other.manifest_path },
    );
    expect(answer.json).toMatchObject({
      transaction_id: expect.any(String),
      versions: [{ version: 2 }, { version: 2 }],
    });
    expect([await joust.client.count(id), await joust.client.count(`${id}-b`)]).toEqual([4, 4]);
  });

  it("creates none if one cannot be created", async () => {
    const { client } = joust;
    const other = await staged(`${id}-b`);
    const good = { id: [id], version: 2, manifest_path: given.manifest_path };
    const bad = { id: [`${id}-b`], version: 2, manifest_path: other.manifest_path };
    expectFailure(await batch(good, { ...bad, manifest_path: "/etc/hostname" }), 400, 13);
    expectFailure(await batch(good, { ...bad, id: ["nobody"] }), 404, 4);
    expectFailure(await batch(good, { ...bad, branch: "no" }), 404, 22);
    expectFailure(await batch(good, { ...bad, version: 3 }), 400, 13);
    expectFailure(await batch(good, good), 400, 13, /twice/);
    expectFailure(await batch(), 400, 13, /entries/);
    // An existing version with the manifest of another version.
    expectFailure(await batch(good, { ...good, version: 1 }), 409, 14, /version 1/);
    expectFailure(await batch({ ...bad, version: 1 }, good), 409, 14, /version 1/);
    expect(await versionsOf(id)).toEqual([1]);
    await client.insert(`${id}-b`, items(1));
    await client.ok(`/v1/table/${id}-b/delete`, { predicate: "id = 1" });
    expectFailure(await batch(good, bad), 409, 14);
    expect(await versionsOf(id)).toEqual([1]);
    expect(await client.count(id)).toBe(3);
    // The staged manifest is restored, so that the client can retry.
    expect(existsSync(given.manifest_path)).toBe(true);
    expect((await batch(good)).status).toBe(200);
    expect(await client.count(id)).toBe(4);
    const files = readdirSync(join(given.location, "_versions"));
    expect(files.filter((name) => name.includes("manifest")).sort()).toEqual([
      manifestName(2),
      manifestName(1),
    ]);
  });
});

describe("a commit to several tables", () => {
  const commit = (...operations: object[]) => post("/v1/table/batch-commit", { operations });
  beforeAll(() => joust.client.createNamespace("ns"));

  it("declares, deregisters, creates and deletes versions and returns the results in order", async () => {
    const { client } = joust;
    const { location } = await client.createTable(`${id}-gone`, items(1));
    await client.createTable(`${id}-old`, items(1));
    await client.insert(`${id}-old`, items(1));
    const answer = await commit(
      { deregister_table: { id: [`${id}-gone`] } },
      { create_table_version: { id: [id], version: 2, manifest_path: given.manifest_path } },
      {
        delete_table_versions: {
          id: [`${id}-old`],
          ranges: [{ start_version: 0, end_version: 2 }],
        },
      },
      { declare_table: { id: ["ns", `${id}-new`], properties: { a: "b" } } },
    );
    expect(answer.json).toEqual({
      transaction_id: expect.any(String),
      results: [
        { deregister_table: { id: [`${id}-gone`], location, properties: {} } },
        { create_table_version: { version: expect.objectContaining({ version: 2 }) } },
        { delete_table_versions: { deleted_count: 1 } },
        { declare_table: { location: expect.any(String), properties: { a: "b" } } },
      ],
    });
    expect(existsSync(location)).toBe(true);
    expectFailure(await post(`/v1/table/${id}-gone/describe`, {}), 404, 4);
    expect(await client.count(id)).toBe(4);
    expect(await versionsOf(`${id}-old`)).toEqual([2]);
    expect((await client.ok(`/v1/table/ns$${id}-new/describe`)).is_only_declared).toBe(true);
  });

  it("changes nothing if one step fails", async () => {
    const { client } = joust;
    await client.createTable(`${id}-old`, items(1));
    await client.insert(`${id}-old`, items(1));
    await client.createTable(`${id}-b`, items(1));
    const deletion = (start_version: number, end_version: number, table = `${id}-b`) => ({
      delete_table_versions: { id: [table], ranges: [{ start_version, end_version }] },
    });
    const good = [
      { create_table_version: { id: [id], version: 2, manifest_path: given.manifest_path } },
      { declare_table: { id: [`${id}-new`] } },
    ];
    for (const [bad, status, code] of [
      [{ declare_table: { id: [`${id}-b`] } }, 409, 5],
      [{ declare_table: { id: ["nowhere", "x"] } }, 404, 1],
      [{ declare_table: { id: ["a/b"] } }, 400, 13],
      [{ declare_table: { id: ["y"], location: "../y" } }, 400, 13],
      [{ declare_table: { id: ["y"], location: `${id}-b.lance` } }, 409, 5],
      [{ deregister_table: { id: ["nobody"] } }, 404, 4],
      [deletion(0, -1), 409, 19],
      [deletion(0, 2, "nobody"), 404, 4],
      [{ create_table_version: { id: [`${id}-b`], version: 2, manifest_path: "/x" } }, 400, 13],
      // The same manifest for an existing version.
      [
        { create_table_version: { id: [id], version: 1, manifest_path: given.manifest_path } },
        409,
        14,
      ],
      [{}, 400, 13],
      [{ deregister_table: { id: ["x"] }, ...deletion(0, 1) }, 400, 13],
      [{ deregister_table: { id: [id] } }, 400, 13],
      [{ deregister_table: { id: [] } }, 400, 13],
    ] as const) {
      expectFailure(await commit(...good, deletion(1, 2, `${id}-old`), bad), status, code);
    }
    expectFailure(await commit(), 400, 13, /operations/);
    expect(await exists(id, 2)).toBe(false);
    expect(existsSync(given.manifest_path)).toBe(true);
    expectFailure(await post(`/v1/table/${id}-new/describe`, {}), 404, 4);
    expect(await versionsOf(`${id}-old`)).toEqual([1, 2]);
  });
});
