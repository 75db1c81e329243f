import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import type { Json } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const post = (id: string, operation: string, body?: object, params?: Record<string, string>) =>
  joust.client.post(`/v1/table/${id}/${operation}`, body, params);

/** A table with this many versions; version v has v rows. */
async function createVersions(id: string, versions: number): Promise<void> {
  await joust.client.createTable(id, items(1));
  for (let at = 1; at < versions; at++) await joust.client.insert(id, items(1, { from: at }));
}
async function listed(id: string, body: object = {}): Promise<number[]> {
  const { versions } = (await post(id, "version/list", body)).json;
  return versions.map(({ version }: Json) => version);
}

beforeAll(async () => {
  await createVersions("t", 5);
});

describe("version/list", () => {
  it("lists versions in both orders with their manifests", async () => {
    const reply = (await post("t", "version/list")).json;
    expect(reply.page_token).toBeUndefined();
    expect(reply.versions.map(({ version }: Json) => version)).toEqual([1, 2, 3, 4, 5]);
    for (const version of reply.versions) {
      expect(version).toEqual({
        version: expect.any(Number),
        manifest_path: expect.stringMatching(/t\.lance\/_versions\/\d+\.manifest$/),
        manifest_size: expect.any(Number),
        e_tag: expect.any(String),
        timestamp_millis: expect.any(Number),
      });
      expect(Math.abs(version.timestamp_millis - Date.now())).toBeLessThan(60_000);
    }
    expect(await listed("t", { descending: true })).toEqual([5, 4, 3, 2, 1]);
    expect(await listed("t", { descending: false })).toEqual([1, 2, 3, 4, 5]);
  });

  it.each([true, false])(
    "returns pages, descending %s, by query and by body",
    async (descending) => {
      const whole = await listed("t", { descending });
      for (const inBody of [true, false]) {
        const seen: number[] = [];
        let token = "";
        do {
          const page = { limit: 2, descending, page_token: token };
          const texts = Object.entries(page).map(([name, value]) => [name, String(value)]);
          const { json } = inBody
            ? await post("t", "version/list", page)
            : await post("t", "version/list", undefined, Object.fromEntries(texts));
          expect(json.versions.length).toBeLessThanOrEqual(2);
          seen.push(...json.versions.map(({ version }: Json) => version));
          token = json.page_token ?? "";
        } while (token !== "");
        expect(seen).toEqual(whole);
      }
    },
  );

  it("neither skips nor repeats versions during concurrent writes", async () => {
    await createVersions("moving", 4);
    const page = { limit: 2, descending: true };
    const first = (await post("moving", "version/list", page)).json;
    await joust.client.insert("moving", items(1));
    await post("moving", "version/delete", { ranges: [{ start_version: 3, end_version: 4 }] });
    const page_token = first.page_token;
    const second = (await post("moving", "version/list", { ...page, page_token })).json;
    expect(first.versions.map(({ version }: Json) => version)).toEqual([4, 3]);
    expect(second.versions.map(({ version }: Json) => version)).toEqual([2, 1]);
    expect(second.page_token).toBeUndefined();
  });

  it("rejects tokens of other listings and invalid limits", async () => {
    const { page_token } = (await post("t", "version/list", { limit: 1 })).json;
    expectFailure(
      await post("t", "version/list", { page_token, descending: true }),
      400,
      13,
      /page_token/,
    );
    await createVersions("other", 1);
    expectFailure(await post("other", "version/list", { page_token }), 400, 13, /page_token/);
    expectFailure(await post("t", "version/list", { page_token: "x" }), 400, 13, /page_token/);
    expectFailure(await post("t", "version/list", { limit: 0 }), 400, 13, /limit/);
    expectFailure(await post("t", "version/list", { descending: "yes" }), 400, 13, /descending/);
    expectFailure(await post("t", "version/list", { branch: "dev" }), 404, 22, /dev/);
    expectFailure(await post("nowhere", "version/list"), 404, 4, /nowhere/);
  });
});

describe("version/describe", () => {
  it("describes a version, the latest by default", async () => {
    const { versions } = (await post("t", "version/list")).json;
    expect((await post("t", "version/describe", { version: 2 })).json).toEqual({
      version: versions[1],
    });
    expect((await post("t", "version/describe")).json).toEqual({ version: versions[4] });
  });

  it.each<[string, object, number, number]>([
    ["an unknown version", { version: 99 }, 404, 11],
    ["version 0", { version: 0 }, 404, 11],
    ["a version beyond 2^53", { version: 2 ** 60 }, 404, 11],
    ["a version beyond 2^63", { version: 1e300 }, 400, 13],
    ["a negative version", { version: -1 }, 400, 13],
    ["a version that is a string", { version: "2" }, 400, 13],
    ["an unknown branch", { version: 1, branch: "dev" }, 404, 22],
  ])("returns an error for %s", async (_, body, status, code) => {
    expectFailure(await post("t", "version/describe", body), status, code);
  });
});

describe("version/delete", () => {
  const range = (start_version: number, end_version: number) => ({ start_version, end_version });

  it("deletes the versions of the ranges and keeps the rest readable", async () => {
    await createVersions("old", 6);
    const ranges = [range(0, 3), range(4, 5), range(2, 2)];
    expect((await post("old", "version/delete", { ranges })).json).toEqual({
      deleted_count: 3,
      transaction_id: expect.any(String),
    });
    expect(await listed("old")).toEqual([3, 5, 6]);
    expect(await joust.client.count("old", { version: 3 })).toBe(3);
    expect(await joust.client.count("old")).toBe(6);
    for (const path of ["describe", "count_rows", "restore"]) {
      expectFailure(await post("old", path, { version: 2 }), 404, 11, /2/);
    }
    expect((await post("old", "version/delete", { ranges })).json).toEqual({
      deleted_count: 0,
      transaction_id: expect.any(String),
    });
  });

  it("deletes nothing if a range includes the latest, a tagged or a branched version", async () => {
    await createVersions("held", 4);
    expectFailure(
      await post("held", "version/delete", { ranges: [range(0, -1)] }),
      409,
      19,
      /newest/,
    );
    await post("held", "tags/create", { tag: "release", version: 2 });
    expectFailure(
      await post("held", "version/delete", { ranges: [range(0, 3)] }),
      409,
      19,
      /release/,
    );
    await post("held", "branches/create", { name: "dev", from_version: 3 });
    expectFailure(await post("held", "version/delete", { ranges: [range(3, 4)] }), 409, 19, /dev/);
    expect(await listed("held")).toEqual([1, 2, 3, 4]);
    expect(
      (await post("held", "version/delete", { ranges: [range(1, 2)] })).json.deleted_count,
    ).toBe(1);
  });

  it.each<[string, object, number, number, RegExp]>([
    ["no ranges", {}, 400, 13, /ranges/],
    ["an empty list", { ranges: [] }, 400, 13, /ranges/],
    ["no end", { ranges: [{ start_version: 0 }] }, 400, 13, /end_version/],
    ["a negative start", { ranges: [range(-1, 2)] }, 400, 13, /start_version/],
    ["an end below -1", { ranges: [range(0, -2)] }, 400, 13, /end_version/],
    ["an unknown branch", { ranges: [range(0, 1)], branch: "dev" }, 404, 22, /dev/],
  ])("rejects %s", async (_, body, status, code, detail) => {
    expectFailure(await post("t", "version/delete", body), status, code, detail);
  });
});

describe("restore", () => {
  it("commits an old version's rows and schema as the latest version", async () => {
    await createVersions("back", 3);
    await post("back", "add_columns", { new_columns: [{ name: "more", expression: "1" }] });
    const reply = await post("back", "restore", { version: 2 });
    expect(reply.json).toEqual({ version: 5, transaction_id: expect.any(String) });
    expect(reply.headers.get("x-lancedb-version")).toBe("5");
    expect(await joust.client.count("back")).toBe(2);
    const { schema } = await joust.client.ok("/v1/table/back/describe");
    expect(schema.fields.map(({ name }: Json) => name)).not.toContain("more");
    expect(await joust.client.count("back", { version: 4, predicate: "more = 1" })).toBe(3);
  });

  it.each<[string, object, number, number]>([
    ["an unknown version", { version: 99 }, 404, 11],
    ["a version beyond 2^53", { version: 2 ** 60 }, 404, 11],
    ["a version beyond 2^63", { version: 1e300 }, 400, 13],
    ["no version", {}, 400, 13],
    ["a null version", { version: null }, 400, 13],
    ["a negative version", { version: -1 }, 400, 13],
    ["an unknown branch", { version: 1, branch: "dev" }, 404, 22],
  ])("fails for %s", async (_, body, status, code) => {
    expectFailure(await post("t", "restore", body), status, code);
    expect(await listed("t")).toEqual([1, 2, 3, 4, 5]);
  });
});
