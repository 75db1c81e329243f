/** The object of a transaction decides who may see it. */
import { expect, it } from "vitest";
import { namespaceObject, tableObject } from "../../../src/catalog/grants/grants.js";
import { setupGrants } from "../../auth/grants/grant-callers.js";
import { items } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const granted = setupGrants(joust);
const dot = { delimiter: "." };

/** Creates a table, and returns the transaction. */
async function create(name: string): Promise<string> {
  const path = `/v1/table/${encodeURIComponent(name)}/create`;
  const answer = await joust.client.post(path, items(3), dot);
  expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
  return answer.json.transaction_id;
}

it("a name that contains the delimiter is not taken for a path", async () => {
  const { client } = joust;
  await client.ok("/v1/namespace/a/create", {});
  const inRoot = await create("a$b");
  const inNamespace = await create("a.b");
  const describe = `/v1/transaction/${inRoot}/describe`;
  const described = await client.ok(describe, {});
  expect(described.properties).toMatchObject({ object: "a$b", object_path: '["a$b"]' });
  const other = await client.ok(`/v1/transaction/${inNamespace}/describe`, {});
  expect(other.properties).not.toHaveProperty("object_path");

  const ofNamespace = await granted.caller({ "namespace:a": ["select"] });
  expectFailure(await ofNamespace.client.post(describe, {}), 404, 10);
  await ofNamespace.client.ok(`/v1/transaction/${inNamespace}/describe`, {});
  const ofTable = await granted.caller();
  await granted.grants.grant(`key:${ofTable.id}`, tableObject(["a$b"]), ["select"]);
  await ofTable.client.ok(describe, {});
  expectFailure(await ofTable.client.post(`/v1/transaction/${inNamespace}/describe`, {}), 404, 10);
  // In the database `a` the root has no tables.
  const headers = { "x-lancedb-database": "a" };
  expect((await client.request(describe, { body: {}, headers })).status).toBe(404);
});

it.each(["operation", "object", "object_path", "version"])(
  "a client cannot alter its %s",
  async (key) => {
    const id = await create(`t_${key}`);
    await joust.client.createNamespace(`mine_${key}`);
    const caller = await granted.caller();
    const subject = `key:${caller.id}`;
    await granted.grants.grant(subject, tableObject([`t_${key}`]), ["manage"]);
    await granted.grants.grant(subject, namespaceObject([`mine_${key}`]), ["manage"]);
    const path = `/v1/transaction/${id}/alter`;
    for (const action of [
      { setPropertyAction: { key, value: `mine_${key}` } },
      { unsetPropertyAction: { key } },
    ]) {
      const answer = await caller.client.post(path, { actions: [action] });
      expectFailure(answer, 400, 13, /is set by the server/);
    }
    await caller.client.ok(path, { actions: [{ setPropertyAction: { key: "mine", value: "1" } }] });
  },
);
