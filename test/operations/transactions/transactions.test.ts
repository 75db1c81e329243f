import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { startServer } from "../../harness/server.js";
import { setupServer } from "../../harness/setup-server.js";
import { removeDir } from "../../harness/temp.js";
import { waitFor } from "../../harness/wait-for.js";

const joust = setupServer();
const describeTransaction = (id: string) => joust.client.post(`/v1/transaction/${id}/describe`);
const alter = (id: string, ...actions: object[]) =>
  joust.client.post(`/v1/transaction/${id}/alter`, { actions });
const status = (status: string) => ({ setStatusAction: { status } });
const set = (key: string, value: string, mode?: string) => ({
  setPropertyAction: { key, value, ...(mode && { mode }) },
});
const unset = (key: string, mode?: string) => ({
  unsetPropertyAction: { key, ...(mode && { mode }) },
});

let created: string;
beforeAll(async () => {
  created = (await joust.client.createTable("t", items(300))).transaction_id;
});

describe("a transaction", () => {
  it("is created by every change of a table or namespace and can be described at once", async () => {
    const { client } = joust;
    const replies = [
      ["CreateNamespace", "n", await client.createNamespace("n")],
      ["CreateTable", "u", await client.createTable("u", items(1))],
      ["InsertIntoTable", "u", await client.insert("u", items(1))],
      ["DeleteFromTable", "u", await client.ok("/v1/table/u/delete", { predicate: "id > 0" })],
      ["RenameTable", "u", await client.ok("/v1/table/u/rename", { new_table_name: "w" })],
      ["DropTable", "w", await client.ok("/v1/table/w/drop")],
      ["DeclareTable", "d", await client.ok("/v1/table/d/declare")],
      ["DeregisterTable", "d", await client.ok("/v1/table/d/deregister")],
    ] as const;
    for (const [operation, object, { transaction_id }] of replies) {
      const { status, properties } = (await describeTransaction(transaction_id)).json;
      expect({ status, properties }).toMatchObject({
        status: "Succeeded",
        properties: { operation, object },
      });
    }
    expect(new Set(replies.map(([, , reply]) => reply.transaction_id)).size).toBe(replies.length);
    const [, , inserted] = replies[2];
    expect((await describeTransaction(inserted.transaction_id)).json.properties.version).toBe("2");
  });

  it("survives a kill of the server", async () => {
    const server = await startServer();
    const { transaction_id } = await server.client.createTable("t", items(1));
    await server.kill();
    const next = await startServer({ root: server.root, key: server.key });
    try {
      const answer = await next.client.ok(`/v1/transaction/${transaction_id}/describe`);
      expect(answer).toMatchObject({
        status: "Succeeded",
        properties: { operation: "CreateTable", object: "t", version: "1" },
      });
    } finally {
      await next.stop();
      removeDir(server.root);
    }
  });

  it("can be described and altered for names of any length", async () => {
    const path: string[] = [];
    const lengths: number[] = [];
    for (let depth = 1; depth < 11; depth++) {
      path.push(`${depth}`.repeat(100).slice(0, 100));
      const object = path.join("$");
      const { transaction_id: id } = await joust.client.createNamespace(object);
      lengths.push(id.length);
      expect((await describeTransaction(id)).json.properties.object).toBe(object);
      expect((await alter(id, set("a", "b"))).json.properties).toMatchObject({ object, a: "b" });
      expect((await describeTransaction(id)).json.properties.a).toBe("b");
    }
    // The longest ones are stored in the catalog.
    expect([Math.max(...lengths) > 1_200, lengths.at(-1)]).toEqual([true, 36]);
  });

  it("is not found under any other id", async () => {
    for (const id of ["nobody", "a%24b", "%24"]) {
      expectFailure(await describeTransaction(id), 404, 10);
      expectFailure(await alter(id, status("Canceled")), 404, 10);
    }
  });
});

describe("altering a transaction", () => {
  it("sets and unsets properties in each mode", async () => {
    const answer = await alter(
      created,
      set("a", "1"),
      set("a", "2", "OVERWRITE"),
      set("a", "3", "skip"),
      set("b", "1", "Fail"),
      unset("b", "fail"),
      unset("b"),
      unset("b", "SKIP"),
    );
    expect(answer.status).toBe(200);
    expect(answer.json.status).toBe("Succeeded");
    expect(answer.json.properties).toMatchObject({ a: "2" });
    expect(answer.json.properties.b).toBeUndefined();
    expect((await describeTransaction(created)).json).toEqual(answer.json);
  });

  it("applies nothing if one action fails", async () => {
    const before = (await describeTransaction(created)).json;
    expectFailure(await alter(created, set("z", "1"), set("a", "9", "Fail")), 400, 13, /"a"/);
    expectFailure(await alter(created, set("z", "1"), unset("no", "Fail")), 400, 13, /"no"/);
    expectFailure(await alter(created, set("z", "1"), status("Canceled")), 409, 14, /Succeeded/);
    expectFailure(await alter(created, set("z", "x".repeat(70_000))), 400, 13, /bytes/);
    expect((await describeTransaction(created)).json).toEqual(before);
  });

  it("rejects invalid actions", async () => {
    expectFailure(await alter(created), 400, 13, /actions/);
    expectFailure(await joust.client.post(`/v1/transaction/${created}/alter`, {}), 400, 13);
    expectFailure(await alter(created, {}), 400, 13, /exactly one/);
    expectFailure(
      await alter(created, { ...set("a", "b"), ...unset("a") }),
      400,
      13,
      /exactly one/,
    );
    expectFailure(await alter(created, status("Done")), 400, 13, /Succeeded/);
    expectFailure(await alter(created, set("a", "b", "merge")), 400, 13, /overwrite/);
    expectFailure(await alter(created, unset("a", "overwrite")), 400, 13, /skip/);
    expectFailure(
      await alter(created, { setPropertyAction: { key: "a" } }),
      400,
      13,
      /setPropertyAction/,
    );
    expectFailure(await alter(created, set("", "b")), 400, 13, /key/);
    expect((await alter(created, status("succeeded"))).status).toBe(200);
  });

  it("cancels the running job of the transaction", async () => {
    const { client } = joust;
    await client.createTable("large", items(40_000, { dimension: 32 }));
    const wanted = { column: "vector", index_type: "IVF_HNSW_FLAT", name: "slow", replace: true };
    // A build may end before it is canceled: then the test tries the next one.
    const canceled = await waitFor(
      "a build is canceled while it runs",
      async () => {
        const { transaction_id: id } = await client.ok("/v1/table/large/create_index", wanted);
        const isRunning = async () => (await describeTransaction(id)).json.status === "Running";
        await waitFor("the build runs", isRunning);
        expectFailure(await alter(id, status("Succeeded")), 409, 14, /Canceled|Succeeded/);
        const answer = await alter(id, set("why", "test"), status("CANCELED"));
        return answer.status === 200 && { id, answer };
      },
      { timeoutMs: 60_000 },
    );
    expect(canceled.answer.json).toMatchObject({
      status: "Canceled",
      properties: { why: "test", operation: "CreateTableIndex" },
    });
    const job = await client.ok("/v1/jobs/describe", { job_id: canceled.id });
    expect(job.job_state).toBe("CANCELLED");
    expect((await describeTransaction(canceled.id)).json.status).toBe("Canceled");
    // A canceled build creates no index.
    const { indexes } = await client.ok("/v1/table/large/index/list");
    expect(indexes.filter(({ status }: { status: string }) => status === "Building")).toEqual([]);
    expectFailure(await alter(canceled.id, status("Running")), 409, 14, /ended as Canceled/);
  }, 120_000);

  it("follows a job to its end", async () => {
    const { client } = joust;
    const wanted = { column: "category", index_type: "BITMAP", name: "done" };
    const { transaction_id: id } = await client.ok("/v1/table/t/create_scalar_index", wanted);
    await waitFor("the build", async () => {
      const { status } = (await describeTransaction(id)).json;
      expect(["Queued", "Running", "Succeeded"]).toContain(status);
      return status === "Succeeded";
    });
    expectFailure(await alter(id, status("Canceled")), 409, 14, /Succeeded/);
    await client.ok("/v1/table/t/index/done/drop");
    expect((await describeTransaction(id)).json.status).toBe("Succeeded");
  });
});
