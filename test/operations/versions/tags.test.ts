import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const tags = (id: string, operation: string, body?: object, params?: Record<string, string>) =>
  joust.client.post(`/v1/table/${id}/tags/${operation}`, body, params);

/** A table of three versions. */
async function tagged(id: string): Promise<void> {
  await joust.client.createTable(id, items(1));
  for (const from of [1, 2]) await joust.client.insert(id, items(1, { from }));
}

beforeAll(async () => {
  await tagged("t");
  await joust.client.ok("/v1/table/t/tags/create", { tag: "taken", version: 1 });
});

describe("tags", () => {
  it("can be created, read, moved, listed and deleted", async () => {
    await tagged("life");
    expect((await tags("life", "create", { tag: "v1", version: 1 })).json).toEqual({
      transaction_id: expect.any(String),
    });
    expect((await tags("life", "version", { tag: "v1" })).json).toEqual({ version: 1 });
    const described = await joust.client.post("/v1/table/life/describe", { tag: "v1" });
    expect(described.json.version).toBe(1);
    expect(described.headers.get("x-lancedb-version")).toBe("1");

    const { v1 } = (await tags("life", "list")).json.tags;
    expect(v1).toEqual({
      version: 1,
      manifestSize: expect.any(Number),
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      updatedAt: v1.createdAt,
      metadata: {},
    });

    expect((await tags("life", "update", { tag: "v1", version: 3 })).json).toEqual({
      transaction_id: expect.any(String),
    });
    expect((await tags("life", "version", { tag: "v1" })).json).toEqual({ version: 3 });
    const moved = (await tags("life", "list")).json.tags.v1;
    expect(moved.createdAt).toBe(v1.createdAt);
    expect(Date.parse(moved.updatedAt)).toBeGreaterThan(Date.parse(v1.updatedAt));

    expect((await tags("life", "delete", { tag: "v1" })).json).toEqual({
      transaction_id: expect.any(String),
    });
    expect((await tags("life", "list")).json).toEqual({ tags: {} });
    expectFailure(await tags("life", "version", { tag: "v1" }), 404, 8, /v1/);
  });

  it("are paged by name, also by GET", async () => {
    await tagged("many");
    const names = ["a", "b", "c.1", "d-2", "e_3"];
    for (const tag of [...names].reverse()) await tags("many", "create", { tag, version: 2 });
    const get = await joust.client.get("/v1/table/many/tags/list");
    expect(Object.keys(get.json.tags)).toEqual(names);
    const first = (await tags("many", "list", undefined, { limit: "2" })).json;
    expect(Object.keys(first.tags)).toEqual(["a", "b"]);
    await tags("many", "create", { tag: "aa", version: 1 });
    await tags("many", "delete", { tag: "b" });
    const second = (await tags("many", "list", { limit: 2, page_token: first.page_token })).json;
    expect(Object.keys(second.tags)).toEqual(["c.1", "d-2"]);
    const { page_token } = second;
    const last = await joust.client.get("/v1/table/many/tags/list", { limit: "2", page_token });
    expect(Object.keys(last.json.tags)).toEqual(["e_3"]);
    expect(last.json.page_token).toBeUndefined();
    expectFailure(await tags("t", "list", { page_token }), 400, 13, /page_token/);
    expectFailure(await tags("t", "list", { limit: 0 }), 400, 13, /limit/);
  });

  it.each<[string, string, object, number, number, RegExp]>([
    ["a taken name", "create", { tag: "taken", version: 2 }, 409, 9, /taken/],
    ["an unknown version", "create", { tag: "new", version: 99 }, 404, 11, /99/],
    ["version 0", "create", { tag: "new", version: 0 }, 404, 11, /0/],
    ["an unknown branch", "create", { tag: "new", version: 1, branch: "dev" }, 404, 22, /dev/],
    ["no version", "create", { tag: "new" }, 400, 13, /version/],
    ["no name", "create", { version: 1 }, 400, 13, /tag/],
    ["an empty name", "create", { tag: "", version: 1 }, 400, 13, /tag/],
    [
      "a name that leads out of the table",
      "create",
      { tag: "../../new", version: 1 },
      400,
      13,
      /./,
    ],
    ["an unknown tag", "update", { tag: "new", version: 1 }, 404, 8, /new/],
    ["an unknown version", "update", { tag: "taken", version: 99 }, 404, 11, /99/],
    ["an unknown branch", "update", { tag: "taken", version: 1, branch: "dev" }, 404, 22, /dev/],
    ["no version", "update", { tag: "taken" }, 400, 13, /version/],
    ["an unknown tag", "version", { tag: "new" }, 404, 8, /new/],
    ["no tag", "version", {}, 400, 13, /tag/],
    ["a name that leads out of the table", "version", { tag: "../../x" }, 404, 8, /tag/],
    ["an unknown tag", "delete", { tag: "new" }, 404, 8, /new/],
    ["no tag", "delete", {}, 400, 13, /tag/],
  ])("requests fail for %s in %s", async (_, operation, body, status, code, detail) => {
    expectFailure(await tags("t", operation, body), status, code, detail);
    expect((await tags("t", "list")).json.tags).toEqual({
      taken: expect.objectContaining({ version: 1 }),
    });
  });

  it.each(["list", "version", "create", "update", "delete"])(
    "requests fail in %s for a missing table",
    async (operation) => {
      expectFailure(await tags("nowhere", operation, { tag: "a", version: 1 }), 404, 4, /nowhere/);
    },
  );

  it("requests describe a version by its tag alone", async () => {
    const describe = (body: object) => joust.client.post("/v1/table/t/describe", body);
    expectFailure(await describe({ tag: "taken", version: 1 }), 400, 13, /tag/);
    expectFailure(await describe({ tag: "taken", branch: "dev" }), 400, 13, /tag/);
    expect((await describe({ tag: "taken", branch: "main" })).json.version).toBe(1);
  });
});
