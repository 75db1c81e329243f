import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { isTooDeep, MAX_DEPTH, parseJson } from "../../src/api/validation/json.js";
import { items } from "../harness/arrow.js";
import { expectFailure } from "../harness/expect-failure.js";
import { setupServer } from "../harness/setup-server.js";
import { head, sendRaw } from "../harness/socket.js";

const joust = setupServer();

beforeAll(async () => {
  await joust.client.createTable("t", items(10));
});

const arrays = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
const objects = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${"}".repeat(depth - 1)}`;

describe("a body that is nested too deeply", () => {
  const deep = [arrays(100_000), objects(100_000), "[".repeat(100_000), '{"a":'.repeat(100_000)];
  const asked = [
    ["count_rows", "predicate"],
    ["count_rows", "context"],
    ["describe", "context"],
    ["describe", "unknown"],
    ["delete", "predicate"],
    ["schema_metadata/update", "context"],
    ["query", "filter"],
    ["query", "full_text_query"],
    ["explain_plan", "query"],
    ["insert", "x"],
  ];

  it.each(asked)("gets 400 from %s for the body `%s`", async (operation, member) => {
    for (const value of deep) {
      const answer = await joust.client.request(`/v1/table/t/${operation}`, {
        body: `{"k": 1, "${member}": ${value}}`,
        headers: { "content-type": "application/json" },
      });
      expectFailure(answer, operation === "insert" ? 415 : 400, 13);
    }
  });

  it("gets the same limit if the engine decodes the body", async () => {
    const send = (path: string, depth: number) =>
      joust.client.post(path, `{"k": 1, "full_text_query": ${objects(depth - 1)}, "vector": []}`);
    const allowed = await send("/v1/table/t/query", MAX_DEPTH);
    expect(allowed.json.detail).not.toMatch(/recursion/);
    expectFailure(await send("/v1/table/t/query", MAX_DEPTH + 1), 400, 13, /recursion limit/);
    expect((await send("/v1/table/t/describe", MAX_DEPTH)).status).toBe(200);
    expectFailure(await send("/v1/table/t/describe", MAX_DEPTH + 1), 400, 13, /127 levels/);
  });

  it("gets 400 in JSON parameters", async () => {
    for (const value of ["[".repeat(3_000), '{"a":'.repeat(700), '{"a":{"a":{}}}']) {
      for (const name of ["properties", "storage_options"]) {
        const created = await joust.client.post("/v1/table/new/create", items(1), {
          [name]: value,
        });
        expectFailure(created, 400, 13);
      }
      const page = await joust.client.get("/v1/table", {
        page_token: Buffer.from(value).toString("base64url"),
      });
      expectFailure(page, 400, 13, /page_token/);
    }
  });
});

describe("isTooDeep", () => {
  const depthOf = (value: unknown): number =>
    value === null || typeof value !== "object"
      ? 0
      : 1 + Math.max(0, ...Object.values(value).map(depthOf));

  it("agrees with the depth of the parsed value", () => {
    const hostile = fc.constantFrom("[[[", '"', "\\", '\\"', '{"', "]]]", '"]', "\\\\");
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: "large" },
        fc.oneof(hostile, fc.string(), fc.integer()),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(fc.oneof(hostile, fc.string()), tie("value"), { maxKeys: 3 }),
      ),
    })).value;
    const wrapped = fc.tuple(value, fc.nat(2)).map(([inner, more]) => {
      let whole: unknown = inner;
      while (depthOf(whole) < MAX_DEPTH - 1 + more) whole = [whole, '"', "\\"];
      return whole;
    });
    fc.assert(
      fc.property(fc.oneof(value, wrapped), fc.constantFrom(undefined, 1), (one, space) => {
        const text = JSON.stringify(one, undefined, space);
        expect(isTooDeep(Buffer.from(text))).toBe(depthOf(one) > MAX_DEPTH);
      }),
    );
  });
});

describe("a string that is not Unicode", () => {
  const bytes = (...parts: (string | number[])[]) =>
    Buffer.concat(parts.map((part) => Buffer.from(part as string)));
  const bad = [[0xff, 0xfe], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0xf5, 0x80, 0x80, 0x80]];

  it.each([
    ["count_rows", "predicate"],
    ["count_rows", "unknown"],
    ["delete", "predicate"],
    ["schema_metadata/update", "x"],
    ["query", "filter"],
    ["query", "unknown"],
    ["explain_plan", "unknown"],
    ["analyze_plan", "unknown"],
  ])("gets 400 from %s in the body `%s`", async (operation, member) => {
    for (const one of bad) {
      const body = bytes(`{"k": 1, "vector": [], "${member}": "`, one, '"}');
      const headers = { "content-type": "application/json" };
      const answer = await joust.client.request(`/v1/table/t/${operation}`, { body, headers });
      expectFailure(answer, 400, 13, /^the body is not UTF-8$/);
    }
  });

  it("gets 400 for an unpaired surrogate", async () => {
    for (const text of ["\\ud800", "\\uD83Dx", "\\udc00", "a\\udfff\\ud800"]) {
      for (const body of [`{"predicate": "${text}"}`, `{"context": {"${text}": "x"}}`]) {
        expectFailure(
          await joust.client.post("/v1/table/t/count_rows", body),
          400,
          13,
          /surrogate/,
        );
      }
      const query = `{"k": 1, "vector": [], "filter": "${text}"}`;
      expectFailure(await joust.client.post("/v1/table/t/query", query), 400, 13);
    }
    expect(parseJson(Buffer.from('{"a": "\\ud83c\\udfaf \\\\ud800"}'))).toEqual({
      a: "🎯 \\ud800",
    });
  });

  it.each([
    "/v1/table/t%FF/count_rows",
    "/v1/table/t/count_rows?predicate=%FF",
    "/v1/table/t/count_rows?%FF=x",
  ])("gets 400 in the URL: %s", async (address) => {
    for (const path of [
      Buffer.from(address),
      Buffer.from(address.replace("%FF", "\xff"), "latin1"),
    ]) {
      const lines = head(" HTTP/1.1", "Host: x", `Authorization: Bearer ${joust.server.key}`);
      const answer = await sendRaw(joust.server.url, [bytes("GET ", [...path], lines)], 300);
      expect(answer?.status).toBe(400);
      expect(JSON.parse(answer?.body ?? "")).toMatchObject({
        code: 13,
        // Node's parser takes ASCII only.
        detail: expect.stringMatching(/UTF-8|not well-formed HTTP/),
      });
    }
  });

  it("does not include a UTF-8 name that is not percent-encoded", async () => {
    const lines = head(" HTTP/1.1", "Host: x", `Authorization: Bearer ${joust.server.key}`);
    const path = bytes("GET /v1/table/t\u00e4/count_rows", lines);
    const status = process.env.JOUST_TEST_HTTP === "node" ? 400 : 404;
    expect((await sendRaw(joust.server.url, [path], 300))?.status).toBe(status);
  });
});
