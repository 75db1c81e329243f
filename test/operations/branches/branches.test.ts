import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const branches = (id: string, operation: string, body?: object, params?: Record<string, string>) =>
  joust.client.post(`/v1/table/${id}/branches/${operation}`, body, params);

beforeAll(async () => {
  for (const id of ["t", "many", "life"]) {
    await joust.client.createTable(id, items(1));
    await joust.client.insert(id, items(1, { from: 1 }));
  }
  await joust.client.ok("/v1/table/t/branches/create", { name: "dev" });
});

describe("branches", () => {
  it("can be created, listed, used and deleted", async () => {
    expect((await branches("life", "create", { name: "dev" })).json).toEqual({
      transaction_id: expect.any(String),
    });
    await joust.client.insert("life", items(1, { from: 2 }), { branch: "dev" });
    expect((await branches("life", "create", { name: "old", from_version: 1 })).json).toEqual({
      transaction_id: expect.any(String),
    });
    const twig = { name: "team/twig", from_branch: "dev", from_version: 3 };
    expect((await branches("life", "create", twig)).json).toEqual({
      transaction_id: expect.any(String),
    });
    expect((await branches("life", "list")).json).toEqual({
      branches: {
        dev: expect.objectContaining({ parentVersion: 2 }),
        old: expect.objectContaining({ parentVersion: 1 }),
        "team/twig": {
          parentBranch: "dev",
          parentVersion: 3,
          createAt: expect.closeTo(Date.now() / 1000, -2),
          manifestSize: expect.any(Number),
          metadata: {},
        },
      },
    });
    const rows = (branch: string) => joust.client.count("life", { branch });
    expect(await Promise.all(["main", "dev", "old", "team/twig"].map(rows))).toEqual([2, 3, 1, 3]);

    expectFailure(await branches("life", "delete", { name: "dev" }), 409, 19, /dev/);
    expect((await branches("life", "delete", { name: "team/twig" })).json).toEqual({
      transaction_id: expect.any(String),
    });
    await joust.client.ok("/v1/table/life/tags/create", { tag: "a", version: 3, branch: "dev" });
    expectFailure(await branches("life", "delete", { name: "dev" }), 409, 19, /dev/);
    await joust.client.ok("/v1/table/life/tags/delete", { tag: "a" });
    expect((await branches("life", "delete", { name: "dev" })).json).toEqual({
      transaction_id: expect.any(String),
    });
    expect(Object.keys((await branches("life", "list")).json.branches)).toEqual(["old"]);
    expectFailure(await joust.client.post("/v1/table/life/count_rows", { branch: "dev" }), 404, 22);

    // The name is free, and a new branch shows nothing of the old one.
    await branches("life", "create", { name: "dev" });
    expect(await rows("dev")).toBe(2);
    expect(await rows("main")).toBe(2);
  });

  it("are paged by name", async () => {
    const names = ["a", "b", "c/1", "c/2", "d"];
    for (const name of [...names].reverse()) await branches("many", "create", { name });
    const first = (await branches("many", "list", { limit: 2 })).json;
    expect(Object.keys(first.branches)).toEqual(["a", "b"]);
    await branches("many", "delete", { name: "b" });
    const { page_token } = first;
    const rest = (await branches("many", "list", undefined, { limit: "9", page_token })).json;
    expect(Object.keys(rest.branches)).toEqual(["c/1", "c/2", "d"]);
    expect(rest.page_token).toBeUndefined();
    expectFailure(await branches("t", "list", { page_token }), 400, 13, /page_token/);
  });

  it.each<[string, string, object, number, number, RegExp]>([
    ["a taken name", "create", { name: "dev" }, 409, 23, /dev/],
    ["the main branch's name", "create", { name: "main" }, 400, 13, /main/],
    ["a name that leads out of the table", "create", { name: "../../x" }, 400, 13, /./],
    ["a name with spaces", "create", { name: "a b" }, 400, 13, /./],
    ["an empty name", "create", { name: "" }, 400, 13, /name/],
    ["no name", "create", {}, 400, 13, /name/],
    ["an unknown parent", "create", { name: "x", from_branch: "nope" }, 404, 22, /nope/],
    ["an unknown version", "create", { name: "x", from_version: 99 }, 404, 11, /99/],
    ["a negative version", "create", { name: "x", from_version: -1 }, 400, 13, /from_version/],
    ["an unknown branch", "delete", { name: "nope" }, 404, 22, /nope/],
    ["the main branch", "delete", { name: "main" }, 400, 13, /main/],
    ["no name", "delete", {}, 400, 13, /name/],
  ])("requests fail with %s in %s", async (_, operation, body, status, code, detail) => {
    expectFailure(await branches("t", operation, body), status, code, detail);
    expect(Object.keys((await branches("t", "list")).json.branches)).toEqual(["dev"]);
  });

  it.each(["list", "create", "delete"])(
    "requests fail in %s for a missing table",
    async (operation) => {
      expectFailure(await branches("nowhere", operation, { name: "x" }), 404, 4, /nowhere/);
    },
  );

  it("cannot be named outside of the table's directory", async () => {
    const reply = await joust.client.post("/v1/table/t/count_rows", { branch: "../../many" });
    expectFailure(reply, 404, 22, /branch/);
  });
});
