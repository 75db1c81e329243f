/** What a caller may do changes while its request waits, or depends on objects that it does not see. */
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, it } from "vitest";
import { tableObject } from "../../../src/catalog/grants/grants.js";
import { items } from "../../harness/arrow.js";
import { runCli } from "../../harness/cli.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";
import { waitFor } from "../../harness/wait-for.js";
import { setupGrants } from "./grant-callers.js";

const joust = setupServer();
const granted = setupGrants(joust);

beforeAll(async () => {
  await joust.client.createTable("t", items(3));
});

it("a caller that lost its grant while it waited for changes gets no rows", async () => {
  const { client, id } = await granted.caller({ "table:t": ["select"] });
  const { version } = await joust.client.ok("/v1/table/t/describe");
  const body = { from_version: version, wait_ms: 30_000 };
  const waiting = client.post("/v1/table/t/changes", body);
  // No metric shows a request that waits. If it has not arrived by then, the test proves less, and does not fail.
  expect(await Promise.race([waiting, sleep(1_000, "waits")])).toBe("waits");
  await granted.grants.revoke(`key:${id}`, tableObject(["t"]), ["select"]);
  await joust.client.insert("t", items(1, { from: 100 }));
  expectFailure(await waiting, 404, 4);
});

it("a caller whose key was revoked while it waited for changes gets no rows", async () => {
  await joust.client.createTable("u", items(3));
  const { client, id } = await granted.caller({ "table:u": ["select"] });
  const { version } = await joust.client.ok("/v1/table/u/describe");
  const waiting = client.post("/v1/table/u/changes", { from_version: version, wait_ms: 30_000 });
  // The request waits long before the command has started.
  expect((await runCli(["key", "revoke", id, joust.root])).code).toBe(0);
  await waitFor("the key is revoked", async () => {
    const { status } = await client.post("/v1/table/u/describe");
    return status === 401;
  });
  await joust.client.insert("u", items(1, { from: 100 }));
  expectFailure(await waiting, 401, 16);
});

it("the definition of a view is hidden from a caller that may not read its sources", async () => {
  await joust.client.createNamespace("views");
  await joust.client.createNamespace("sources");
  await joust.client.createTable("sources$source", items(3));
  const query = 'SELECT id FROM "sources$source"';
  await joust.client.ok("/v1/materialized_view/views$v/create", { query });
  const { client, id } = await granted.caller({ "namespace:views": ["select"] });
  const describe = () => client.post("/v1/materialized_view/views$v/describe", {});
  const hidden = await describe();
  expectFailure(hidden, 403, 15, /select on all of its sources/);
  expect(hidden.text).not.toContain("sources$source");
  await granted.grants.grant(`key:${id}`, tableObject(["sources", "source"]), ["select"]);
  expect((await describe()).json).toMatchObject({ source_table: "source" });
  const inserting = await granted.caller({ "namespace:views": ["insert"] });
  const answer = await inserting.client.post("/v1/materialized_view/views$v/describe", {});
  expectFailure(answer, 403, 15, /select/);
});

it("a caller in a database does not learn which tables are outside of it", async () => {
  await joust.client.createNamespace("a");
  await joust.client.createTable("secret", items(3));
  const { client } = await granted.caller({ "namespace:a": ["create"] });
  const headers = { "x-lancedb-database": "a" };
  const answers = [];
  for (const name of ["secret", "missing"]) {
    const body = { source_location: `${name}.lance` };
    const answer = await client.request("/v1/table/x/clone", { body, headers });
    answers.push([answer.status, answer.text.replaceAll(name, "NAME")]);
  }
  expect(answers[0]?.[0]).toBe(403);
  const [first, second] = answers.map(([status, text]) => [status, requestless(String(text))]);
  expect(first).toEqual(second);
});

/** A reply without the id of its request. */
const requestless = (text: string): string => text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "ID");
