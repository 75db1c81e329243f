import { readdirSync, rmSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const branches = (id: string, operation: string, body?: object) =>
  joust.client.post(`/v1/table/${id}/branches/${operation}`, body);
const names = async (id: string): Promise<string[]> =>
  Object.keys((await branches(id, "list")).json.branches);
const rows = (id: string, branch: string) => joust.client.count(id, { branch });

/** A table with one row in version 1 and another row in version 2. */
async function table(id: string, ...made: string[]): Promise<void> {
  await joust.client.createTable(id, items(1));
  await joust.client.insert(id, items(1, { from: 1 }));
  for (const name of made) await joust.client.ok(`/v1/table/${id}/branches/create`, { name });
}

/** Every operation on the branch fails. */
async function expectGone(id: string, branch: string): Promise<void> {
  expect(await names(id)).not.toContain(branch);
  const path = `/v1/table/${id}`;
  const { client } = joust;
  for (const reply of [
    await client.post(`${path}/count_rows`, { branch }),
    await client.post(`${path}/query`, { branch, k: 1, vector: {} }),
    await client.post(`${path}/describe`, { branch }),
    await client.post(`${path}/insert`, items(1), { branch }),
    await client.post(`${path}/update`, { branch, updates: [["price", "1"]] }),
    await client.post(`${path}/delete`, { branch, predicate: "id = 0" }),
    await branches(id, "delete", { name: branch }),
  ]) {
    expectFailure(reply, 404, 22, /branch/);
  }
}

describe("a deleted branch", () => {
  it("is removed while a branch with a longer name below it stays, and its name is free", async () => {
    await table("nested", "a", "a/b");
    for (const branch of ["a", "a/b"]) {
      await joust.client.insert("nested", items(3, { from: 2 }), { branch });
    }
    await joust.client.ok("/v1/table/nested/branches/delete", { name: "a" });
    await expectGone("nested", "a");
    expect(await rows("nested", "a/b")).toBe(5);
    await joust.client.ok("/v1/table/nested/branches/create", { name: "a", from_version: 1 });
    expect(await rows("nested", "a")).toBe(1);
    await joust.client.ok("/v1/table/nested/branches/delete", { name: "a/b" });
    await expectGone("nested", "a/b");
    expect(await rows("nested", "a")).toBe(1);
  });

  it("is not recreated by concurrent writes", async () => {
    await table("busy");
    for (let round = 0; round < 5; round++) {
      await joust.client.ok("/v1/table/busy/branches/create", { name: "x", from_version: 1 });
      expect(await rows("busy", "x")).toBe(1);
      const params = { branch: "x" };
      const path = "/v1/table/busy/insert";
      const writes = Array.from({ length: 8 }, (_, n) =>
        joust.client.post(path, items(1, { from: 9 + n }), params),
      );
      // Only one: several would conflict with each other and take long.
      writes.push(joust.client.post(path, items(2), { ...params, mode: "overwrite" }));
      await Promise.race(writes);
      await joust.client.ok("/v1/table/busy/branches/delete", { name: "x" });
      for (const reply of await Promise.all(writes)) {
        // A concurrent overwrite causes conflicts on both sides.
        if (reply.status === 200 || reply.status === 409) continue;
        expectFailure(reply, 404, 22, /branch/);
      }
      await expectGone("busy", "x");
    }
  });

  it("ends its multipart writes", async () => {
    await table("parts", "x");
    const call = (step: string, params: Record<string, string>) =>
      joust.client.post(`/v1/table/parts/multipart_write/${step}`, undefined, params);
    const { upload_id } = (await call("create", { branch: "x" })).json;
    const params = { upload_id, branch: "x" };
    await joust.client.ok("/v1/table/parts/insert", items(4, { from: 2 }), params);
    await joust.client.ok("/v1/table/parts/branches/delete", { name: "x" });
    await joust.client.ok("/v1/table/parts/branches/create", { name: "x" });
    expectFailure(await call("complete", params), 400, 13, /upload/);
    expectFailure(
      await joust.client.post("/v1/table/parts/insert", items(1), params),
      400,
      13,
      /upload/,
    );
    expect(await rows("parts", "x")).toBe(2);
  });
});

it("files of a branch that a crash left without a reference are no branch and block no name", async () => {
  await table("remains", "x");
  await joust.client.insert("remains", items(3, { from: 2 }), { branch: "x" });
  const path = (...parts: string[]) => join(joust.root, "remains.lance", ...parts);
  rmSync(path("_refs", "branches", "x.json"));
  const versions = path("tree", "x", "_versions");
  // Old files: a recent file could belong to a branch whose reference is still being written.
  for (const file of readdirSync(versions)) utimesSync(join(versions, file), 1, 1);
  expect(await names("remains")).toEqual([]);
  // The server does not check references for open handles.
  await joust.client.ok("/v1/table/remains/branches/create", { name: "x", from_version: 1 });
  expect(await rows("remains", "x")).toBe(1);
  await joust.client.ok("/v1/table/remains/branches/delete", { name: "x" });
  await expectGone("remains", "x");
});

it("a branch cannot be created among the files of another branch", async () => {
  await table("among", "a");
  expectFailure(await branches("among", "create", { name: "a/data" }), 400, 13, /`a`/);
  expect(await names("among")).toEqual(["a"]);
});
