import { connect } from "node:net";
import Database from "libsql";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { random } from "../../harness/arrow.js";
import { ARROW_STREAM, type Client } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { type Server, startServer } from "../../harness/server.js";
import { head } from "../../harness/socket.js";
import { removeDir, tempDir } from "../../harness/temp.js";
import { waitFor } from "../../harness/wait-for.js";
import {
  createTenRows,
  keyed,
  newKey,
  REPLAYED,
  rowsAndSum,
  rowsOf,
  writes,
} from "./keyed-writes.js";

/** The state after a server is killed between a commit and the recording of its response. */
function loseResponses(root: string): void {
  const catalog = new Database(`${root}/.joust/catalog.db`);
  catalog.exec("update requests set reply = null, owner = 'an ended server'");
  catalog.close();
}

/** Inserts one row into a table of ten and loses the response; returns the idempotency key. */
async function insertWithoutResponse(root: string): Promise<string> {
  const key = newKey();
  const server = await startServer({ root });
  await createTenRows(server.client, "t");
  await keyed(server.client, key, "/v1/table/t/insert", rowsOf(10));
  await server.kill();
  loseResponses(root);
  return key;
}

describe("a server killed between a commit and its response", () => {
  const root = tempDir("lost");
  let server: Server;
  const answers = new Map<string, { key: string; status: number; text: string }>();

  beforeAll(async () => {
    const before = await startServer({ root });
    for (const [index, write] of writes.entries()) {
      const [table, key] = [`t${index}`, newKey()];
      await createTenRows(before.client, table);
      const { status, text } = await keyed(
        before.client,
        key,
        write.path(table),
        write.body(),
        write.params,
      );
      answers.set(write.name, { key, status, text });
    }
    for (const mode of ["create", "overwrite"]) {
      const key = newKey();
      if (mode === "overwrite") await createTenRows(before.client, "made-overwrite");
      const path = `/v1/table/made-${mode}/create`;
      const { status, text } = await keyed(before.client, key, path, rowsOf(1, 2, 3), { mode });
      answers.set(`create ${mode}`, { key, status, text });
    }
    const key = newKey();
    const { status, text } = await keyed(before.client, key, "/v1/namespace/space/create", {});
    answers.set("namespace", { key, status, text });
    await before.kill();
    loseResponses(root);
    server = await startServer({ root });
  });
  afterAll(async () => {
    await server?.stop();
    removeDir(root);
  });

  it.each(writes.map((write, index) => ({ ...write, table: `t${index}` })))(
    "finds the commit after a restart and returns the same response: $name",
    async ({ name, table, path, body, params, after }) => {
      const { key, status, text } = answers.get(name) as {
        key: string;
        status: number;
        text: string;
      };
      const answer = await keyed(server.client, key, path(table), body(), params);
      expect(answer.status, answer.text).toBe(status);
      const { transaction_id: _, ...first } = JSON.parse(text);
      expect(answer.json).toMatchObject(first);
      expect(answer.headers.get(REPLAYED)).toBeNull();
      expect(await rowsAndSum(server.client, table)).toEqual(after);
      const again = await keyed(server.client, key, path(table), body(), params);
      expect([again.text, again.headers.get(REPLAYED)]).toEqual([answer.text, "true"]);
    },
  );

  it.each(["create", "overwrite"])(
    "finds a created table after a restart and returns the same response: mode %s",
    async (mode) => {
      const { key, text } = answers.get(`create ${mode}`) as { key: string; text: string };
      const path = `/v1/table/made-${mode}/create`;
      const answer = await keyed(server.client, key, path, rowsOf(1, 2, 3), { mode });
      expect(answer.status, answer.text).toBe(200);
      const { transaction_id: _, ...first } = JSON.parse(text);
      expect(answer.json).toMatchObject(first);
      expect(await server.client.count(`made-${mode}`)).toBe(3);
    },
  );

  it("returns 409 after a restart if the outcome of the request cannot be determined", async () => {
    const { key } = answers.get("namespace") as { key: string };
    const answer = await keyed(server.client, key, "/v1/namespace/space/create", {});
    expectFailure(answer, 409, 14, /unknown/);
  });
});

it("after a kill a different body with the same key is rejected and the key stays valid", async () => {
  const root = tempDir("lost-other");
  onTestFinished(() => removeDir(root));
  const key = await insertWithoutResponse(root);
  const server = await startServer({ root });
  onTestFinished(() => server.kill());
  expectFailure(await keyed(server.client, key, "/v1/table/t/insert", rowsOf(11)), 422, 13);
  const answer = await keyed(server.client, key, "/v1/table/t/insert", rowsOf(10));
  expect(answer.status, answer.text).toBe(200);
  expect(await server.client.count("t")).toBe(11);
});

it("a retry that the client aborts before the end of its body frees the key", {
  timeout: 30_000,
}, async () => {
  const root = tempDir("lost-half");
  onTestFinished(() => removeDir(root));
  const key = newKey();
  const body = rowsOf(10);
  const before = await startServer({ root });
  await createTenRows(before.client, "t");
  const first = await keyed(before.client, key, "/v1/table/t/insert", body);
  await before.kill();
  loseResponses(root);
  const server = await startServer({ root });
  onTestFinished(() => server.kill());

  const { hostname, port } = new URL(server.client.url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.write(
    head(
      "POST /v1/table/t/insert HTTP/1.1",
      "Host: x",
      `Authorization: Bearer ${server.client.key}`,
      `Idempotency-Key: ${key}`,
      `Content-Type: ${ARROW_STREAM}`,
      `Content-Length: ${body.byteLength}`,
    ),
  );
  socket.write(body.subarray(0, body.byteLength / 2));
  const catalog = new Database(`${root}/.joust/catalog.db`);
  onTestFinished(() => void catalog.close());
  const owner = () => catalog.prepare("select owner from requests").pluck().get();
  await waitFor("the retry runs", () => owner() !== "an ended server");
  // The commit is found without the body, but the server still reads the rest of the body.
  await new Promise((resolve) => setTimeout(resolve, 500));
  socket.destroy();

  const answer = await keyed(server.client, key, "/v1/table/t/insert", body);
  expect(answer.status, answer.text).toBe(200);
  const { transaction_id: _, ...recorded } = JSON.parse(first.text);
  expect(answer.json).toMatchObject(recorded);
  expect(await server.client.count("t")).toBe(11);
});

it("a request that never committed runs when it is sent again", async () => {
  const root = tempDir("lost-never");
  onTestFinished(() => removeDir(root));
  const key = await insertWithoutResponse(root);
  // As if the server had been killed earlier: the attempt differs from the one in the table.
  const catalog = new Database(`${root}/.joust/catalog.db`);
  catalog.exec("update requests set attempt = 'another'");
  catalog.close();
  const server = await startServer({ root });
  onTestFinished(() => server.kill());
  const answer = await keyed(server.client, key, "/v1/table/t/insert", rowsOf(10));
  expect(answer.status, answer.text).toBe(200);
  expect(await server.client.count("t")).toBe(12);
});

it.each(["committed", "not committed"])(
  "a request on a new branch that was %s takes effect once",
  async (made) => {
    const root = tempDir("lost-branch");
    onTestFinished(() => removeDir(root));
    const key = newKey();
    const insert = (client: Client) =>
      keyed(client, key, "/v1/table/t/insert", rowsOf(10), { branch: "b" });
    const before = await startServer({ root });
    await createTenRows(before.client, "t");
    await before.client.insert("t", rowsOf(11));
    // The first version of the branch has the same number as its parent version.
    await before.client.ok("/v1/table/t/branches/create", { name: "b" });
    const first = await insert(before.client);
    expect(first.status, first.text).toBe(200);
    await before.kill();
    loseResponses(root);
    if (made === "not committed") {
      const catalog = new Database(`${root}/.joust/catalog.db`);
      catalog.exec("update requests set attempt = 'another'");
      catalog.close();
    }
    const server = await startServer({ root });
    onTestFinished(() => server.kill());
    const answer = await insert(server.client);
    expect(answer.status, answer.text).toBe(200);
    expect(await server.client.count("t", { branch: "b" })).toBe(made === "committed" ? 12 : 13);
  },
);

const seed = Number(process.env.JOUST_TEST_SEED ?? Date.now() % 2 ** 31);

it(`every request takes effect once although the server is killed at random times (seed ${seed})`, {
  timeout: 120_000,
}, async () => {
  const next = random(seed);
  const root = tempDir("killed");
  onTestFinished(() => removeDir(root));
  let server = await startServer({ root });
  onTestFinished(() => server.kill());
  await createTenRows(server.client, "counter");
  await server.client.createTable("rows", rowsOf(-1));
  let sent = 0;
  let stop = false;
  /** Retries through kills until a response arrives. */
  const retryUntilAnswered = async (path: string, body: object | Uint8Array) => {
    const key = newKey();
    for (;;) {
      const { client } = server;
      const answer = await keyed(client, key, path, body).catch(() => undefined);
      if (answer === undefined || answer.status === 409) {
        await waitFor(
          "a server listens",
          async () => server.client !== client || answer?.status === 409,
        );
        continue;
      }
      expect(answer.status, answer.text).toBe(200);
      return;
    }
  };
  let updates = 0;
  const inserting = async () => {
    while (!stop) await retryUntilAnswered("/v1/table/rows/insert", rowsOf(sent++));
  };
  const updating = async () => {
    while (!stop) {
      updates++;
      await retryUntilAnswered("/v1/table/counter/update", { updates: [["n", "n + 1"]] });
    }
  };
  const working = Promise.all([...Array.from({ length: 6 }, inserting), updating(), updating()]);
  for (let kill = 0; kill < 5; kill++) {
    await new Promise((resolve) => setTimeout(resolve, 200 + next() * 800));
    const { key } = server;
    await server.kill();
    server = await startServer({ root, key });
  }
  stop = true;
  await working;
  expect(await rowsAndSum(server.client, "counter")).toEqual([10, 10 * updates]);
  expect(await server.client.count("rows")).toBe(sent + 1);
  const seen = await server.client.query("rows", { k: 100_000, columns: ["id"] });
  expect(new Set(seen.getChild("id")).size).toBe(sent + 1);
});
