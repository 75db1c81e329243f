import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { buildEachKind } from "../../harness/indexes.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const post = (path: string, body?: object, params?: Record<string, string>) =>
  joust.client.post(`/v1/table/${path}`, body, params);

beforeAll(async () => {
  await joust.client.createTable("t", items(600));
  await buildEachKind(joust.client, "t");
  await joust.client.ok("/v1/table/t/branches/create", { name: "dev" });
});

describe("a prewarm request", () => {
  it.each(["vector_idx", "id_idx", "category_idx", "name_idx"])(
    "loads the index %s",
    async (name) => {
      for (const _ of [1, 2]) {
        const reply = await post(`t/index/${name}/prewarm/`);
        expect([reply.status, reply.json]).toEqual([200, {}]);
      }
      expect((await post(`t/index/${name}/prewarm/`, undefined, { branch: "dev" })).status).toBe(
        200,
      );
    },
  );

  it("loads some columns, all columns and columns of a branch", async () => {
    for (const body of [
      undefined,
      {},
      { columns: [] },
      { columns: ["id", "VECTOR"] },
      { branch: "dev" },
    ]) {
      const reply = await post("t/page_cache/prewarm/", body);
      expect([reply.status, reply.json]).toEqual([200, {}]);
    }
  });

  it("fails for a missing index, table, branch or column", async () => {
    expectFailure(await post("t/index/none/prewarm/"), 404, 6, /none/);
    expectFailure(await post("missing/index/id_idx/prewarm/"), 404, 4);
    expectFailure(await post("t/index/id_idx/prewarm/", undefined, { branch: "no" }), 404, 22);
    expectFailure(await post("t/page_cache/prewarm/", { columns: ["none"] }), 400, 12, /none/);
    expectFailure(await post("t/page_cache/prewarm/", { columns: "id" }), 400, 13, /columns/);
  });
});
