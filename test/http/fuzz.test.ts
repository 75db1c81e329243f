import type { TSchema } from "@sinclair/typebox";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import type { Operation } from "../../src/api/operation.js";
import { operations } from "../../src/operations/index.js";
import { items } from "../harness/arrow.js";
import type { Answer } from "../harness/client.js";
import { expectFailure } from "../harness/expect-failure.js";
import { setupServer } from "../harness/setup-server.js";
import { sendRaw } from "../harness/socket.js";

const joust = setupServer();

beforeAll(async () => {
  await joust.client.createTable("t", items(50));
});

const ids = [
  "t",
  "missing",
  "$",
  "a$b$c",
  "..",
  "%2e%2e%2f",
  "%00",
  "%F0%9F%8E%AF",
  "x".repeat(200),
];

const values: readonly unknown[] = [
  null,
  true,
  -1,
  0,
  1.5,
  1e308,
  2 ** 53,
  "",
  "x",
  "'; drop table t; --",
  "\u0000",
  "💥",
  [],
  [[]],
  [null],
  ["x"],
  {},
  { x: {} },
  { __proto__: null, constructor: 1 },
  "x".repeat(10_000),
];

/** Bodies with one random member, which is usually invalid. */
function bodies(operation: Operation): unknown[] {
  const schema = "schema" in operation.body ? operation.body.schema : undefined;
  const members = Object.keys((schema as TSchema | undefined)?.properties ?? {});
  const named = [...members, "identity", "context", "id"];
  return named.flatMap((name) => values.map((value) => ({ [name]: value })));
}

function expectWellFormed(answer: Answer, what: string): void {
  expect(answer.status, `${what}: ${answer.text}`).toBeLessThan(500);
  expect(answer.headers.get("phalanx-version"), what).toBe("0.5.0");
  if (answer.status >= 400) expectFailure(answer, answer.status, answer.json.code);
}

describe("invalid input", () => {
  it.each(operations.map((operation) => [operation.id, operation] as const))(
    "to %s gets a well-formed response",
    async (_, operation) => {
      const method = operation.methods[0] ?? "POST";
      const own = operation.id;
      await joust.client.createTable(own, items(20));
      const path = (id: string) =>
        operation.path.replace("{id}", id).replaceAll(/\{\w+\}/g, "some%20name");
      for (const id of ids) {
        expectWellFormed(await joust.client.request(path(id), { method }), `${operation.id} ${id}`);
      }
      const params = Object.keys((operation.params as TSchema).properties ?? {});
      for (const name of [...params, "delimiter"]) {
        for (const value of ["", "x", "-1", "1e400", "[]", "{}", "%", "\u0000", "$"]) {
          const asked = { method, params: { [name]: value } };
          expectWellFormed(
            await joust.client.request(path(own), asked),
            `${operation.id}?${name}=${value}`,
          );
        }
      }
      if (method === "GET") return;
      const kinds = operation.body.kind === "arrow" ? [] : bodies(operation);
      for (const body of [...kinds, "{", "[]", "nul", '{"a":'.repeat(5_000)]) {
        const sent = { body: body as object | string };
        const type = { headers: { "content-type": "application/json" } };
        const answer = await joust.client.request(path(own), { ...sent, ...type });
        expectWellFormed(answer, `${operation.id} ${JSON.stringify(body).slice(0, 200)}`);
      }
    },
    120_000,
  );

  it("in a query gets a well-formed response", async () => {
    const query = operations.find((operation) => operation.id === "QueryTable") as Operation;
    for (const body of bodies(query) as object[]) {
      for (const rest of [{ k: 1 }, { k: 1, vector: { single_vector: Array(8).fill(0) } }]) {
        const answer = await joust.client.post("/v1/table/t/query", { ...rest, ...body });
        expectWellFormed(answer, JSON.stringify({ ...rest, ...body }).slice(0, 300));
      }
    }
  }, 120_000);

  it("in raw bytes does not stop the server", async () => {
    const word = fc.oneof(
      fc.constantFrom(
        "GET",
        "POST",
        "PUT",
        " ",
        "\r\n",
        "\r\n\r\n",
        "HTTP/1.1",
        "/v1/table/t/query",
      ),
      fc.constantFrom("Content-Length: ", "Transfer-Encoding: chunked", "Host: x", "0", "5", "-1"),
      fc.constantFrom("Connection: close", "Upgrade: websocket", "Expect: 100-continue", ":"),
      fc.uint8Array({ maxLength: 40 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(word, { maxLength: 20 }), async (words) => {
        await sendRaw(joust.server.url, words, 5).catch(() => undefined);
      }),
      { numRuns: 300 },
    );
    expect((await joust.client.get("/healthz")).status).toBe(200);
  });
});
