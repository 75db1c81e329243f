import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const path = "/v1/table/t/count_rows";

beforeAll(async () => {
  await joust.client.createTable("t", items(10));
  await joust.client.insert("t", items(5, { from: 10 }));
});

describe("count_rows", () => {
  it("returns a plain number", async () => {
    const reply = await joust.client.post(path, {});
    expect(reply.status).toBe(200);
    expect(reply.text).toBe("15");
    expect(reply.headers.get("content-type")).toMatch(/^application\/json/);
    expect((await joust.client.post(path)).text).toBe("15");
  });

  it("counts rows that match a predicate in any version", async () => {
    expect(await joust.client.count("t", { predicate: "category = 'c1'" })).toBe(3);
    expect(await joust.client.count("t", { version: 1 })).toBe(10);
    expect(await joust.client.count("t", { version: 1, predicate: "category = 'c1'" })).toBe(2);
    expect(await joust.client.count("t", { version: null, predicate: null, branch: null })).toBe(
      15,
    );
  });

  it("accepts GET, as older clients send it", async () => {
    expect((await joust.client.get(path)).text).toBe("15");
    expect((await joust.client.get(path, { version: "1" })).text).toBe("10");
    expect((await joust.client.get(path, { predicate: "id < 3" })).text).toBe("3");
  });

  it.each([
    [{ version: -1 }, 400, 13, /version/],
    [{ version: "1" }, 400, 13, /version/],
    [{ predicate: 1 }, 400, 13, /predicate/],
    [{ predicate: "" }, 400, 13, /predicate/],
    [{ predicate: "id <" }, 400, 13, /./],
    [{ predicate: "name + 1 = 2 AND" }, 400, 13, /./],
    [{ predicate: "nope = 1" }, 404, 12, /nope/],
    [{ version: 77 }, 404, 11, /77/],
    [{ branch: "dev" }, 404, 22, /dev/],
  ])("rejects %o", async (body, status, code, detail) => {
    expectFailure(await joust.client.post(path, body), status, code, detail);
  });

  it("rejects an invalid version in the query of a GET", async () => {
    expectFailure(await joust.client.get(path, { version: "one" }), 400, 13, /version/);
  });

  it("returns 404 for a missing table", async () => {
    expectFailure(await joust.client.post("/v1/table/none/count_rows"), 404, 4, /none/);
  });
});
