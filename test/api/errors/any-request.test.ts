import type { TSchema } from "@sinclair/typebox";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import type { Operation } from "../../../src/api/operation.js";
import { commonMembers } from "../../../src/api/schemas.js";
import { operations, translations } from "../../../src/operations/index.js";
import { items } from "../../harness/arrow.js";
import { ARROW_STREAM, type Json, type RequestOptions } from "../../harness/client.js";
import { mutated } from "../../harness/mutated-values.js";
import { valuesOf } from "../../harness/schema-values.js";
import { setupServer } from "../../harness/setup-server.js";
import { minimalBodies } from "./cases/all-operations.js";
import { makeFixture } from "./fixture.js";
import { minimal } from "./wrong-values.js";

const seed = Number(process.env.JOUST_TEST_SEED ?? Date.now() % 2 ** 31);
const numRuns = Number(process.env.JOUST_TEST_RUNS ?? 60);

const joust = setupServer();

beforeAll(async () => {
  await makeFixture(joust.server);
});

const nested = (depth: number): unknown =>
  Array.from({ length: depth }).reduce(
    (value: unknown, _, at) => (at % 2 ? [value] : { a: value }),
    1,
  );

const texts = fc.oneof(
  fc.constantFrom(
    "",
    "x",
    "id",
    "true",
    "$",
    "..",
    "\u0000",
    "\n",
    "\ud800",
    "💥",
    "x".repeat(10_000),
  ),
  fc.constantFrom(
    "'; drop table t; --",
    "id = 1",
    "(((",
    "{}",
    "[]",
    "1e400",
    "%",
    "/",
    "s3://x/y",
  ),
  fc.string({ maxLength: 12 }),
);

/** Values of every type, at numeric and text limits, and deeply nested. */
const wrong: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, -1, 0, 1.5, 2 ** 31, 2 ** 53, 2 ** 64, 1e300, -1e300),
  fc.constantFrom<unknown>([], [[]], [null], [1, "a"], {}, { x: {} }, { a: { b: [] } }),
  fc.constantFrom(100, 126, 127, 128, 1_000).map(nested),
  texts,
  fc.jsonValue({ maxDepth: 2 }),
);

/** Placeholder for a value that is nested too deeply for `JSON.stringify`. */
const PLACE = "deep";

/** The bytes with some of them replaced, or truncated. */
const damaged = (whole: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> =>
  fc
    .tuple(
      whole,
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }),
      fc.boolean(),
      fc.nat(),
    )
    .map(([bytes, changes, cut, length]) => {
      const copy = Uint8Array.from(bytes);
      for (const [at, byte] of changes) copy[at % Math.max(copy.length, 1)] = byte;
      return cut ? copy.subarray(0, length % (copy.length + 1)) : copy;
    });

const anyBytes = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc
    .constantFrom('"', "null", "[]", "7", '{"a":', "[".repeat(100_000), '{"a":'.repeat(100_000))
    .map(encode),
);

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Bodies that are valid, invalid in one place, corrupted or random bytes. */
function bodies(operation: Operation): fc.Arbitrary<Uint8Array> {
  const { id, body } = operation;
  if (body.kind === "none") return fc.constant(new Uint8Array(0));
  const rows = fc.oneof(damaged(fc.constant(items(3))), anyBytes);
  if (body.kind === "arrow") return rows;
  const right = fc.oneof(
    fc.constant<Json>(minimalBodies[id] ?? minimal(body.schema)),
    fc.constant<Json>(minimal(body.schema)),
    valuesOf(body.schema) as fc.Arbitrary<Json>,
  );
  const members = Object.keys({ ...commonMembers, ...body.schema.properties });
  const names = fc.oneof(fc.constantFrom(...members), fc.string());
  const json = fc
    .oneof({ weight: 1, arbitrary: right }, { weight: 3, arbitrary: mutated(right, wrong, names) })
    .map((value) => encode(JSON.stringify(value)));
  const deep = fc
    .tuple(mutated(right, fc.constant(PLACE), names), fc.constantFrom("[]", "{}"))
    .map(([value, [open, close]]) => {
      const nesting = (open === "[" ? "[" : '{"a":').repeat(100_000);
      const text = JSON.stringify(value).replace(
        `"${PLACE}"`,
        `${nesting}1${close?.repeat(100_000)}`,
      );
      return encode(text);
    });
  return fc.oneof(
    { weight: 6, arbitrary: json },
    { weight: 2, arbitrary: deep },
    { weight: 2, arbitrary: damaged(json) },
    { weight: 2, arbitrary: anyBytes },
    { weight: body.kind === "json" && body.orArrow ? 2 : 0, arbitrary: rows },
  );
}

/** Query parameters with any text; the required ones are usually present. */
function queries({ params }: Operation): fc.Arbitrary<Record<string, string>> {
  const required: readonly string[] = params.required ?? [];
  const members = Object.keys((params as TSchema).properties ?? {});
  const model = Object.fromEntries([...members, "delimiter"].map((name) => [name, texts]));
  const some = fc.record(model, { requiredKeys: [] as never[], noNullPrototype: true });
  const base = Object.fromEntries(required.map((name) => [name, "id"]));
  return fc.oneof(
    { weight: 4, arbitrary: fc.constant(base) },
    {
      weight: 1,
      arbitrary: some.map((given) => ({ ...base, ...given }) as Record<string, string>),
    },
    { weight: 1, arbitrary: some as fc.Arbitrary<Record<string, string>> },
  );
}

const printable = fc.stringMatching(/^[!-~]{0,20}$/);
const headers = fc.record(
  {
    "x-ns-ctx-a": printable,
    "x-ns-ctx-constructor": printable,
    "x-lance-table-properties": fc.oneof(
      printable,
      fc.constant('{"a":{}}'),
      fc.constant("[".repeat(3_000)),
    ),
    "x-lancedb-min-version": printable,
    "x-request-timeout-ms": printable,
    "idempotency-key": printable,
    range: printable,
  },
  { requiredKeys: [], noNullPrototype: true },
);

/** Paths of the operation: usually with its own object, sometimes with another one. */
const paths = (path: string, own: string): fc.Arbitrary<string> => {
  const ids = fc.oneof(
    { weight: 8, arbitrary: fc.constant(own) },
    { weight: 1, arbitrary: fc.constantFrom("ns$t", "ns$d", "ns$v", "$", "a$$b", "missing", "ns") },
    {
      weight: 1,
      arbitrary: texts.filter((text) => !/[/\ud800]|^\.*$/.test(text) && text.length < 300),
    },
  );
  const names = fc.constantFrom("id_idx", "some name", "1");
  return fc
    .tuple(ids, names)
    .map(([id, name]) =>
      path.replace("{id}", encodeURIComponent(id)).replaceAll(/\{\w+\}/g, encodeURIComponent(name)),
    );
};

/** The paths of the operation in each dialect. */
const places = operations.flatMap((operation) => {
  const translated = translations.filter((one) => one.operation === operation.id);
  const ends = translated.map(
    ({ path }) => path ?? (operation.dialect ? operation.path : `${operation.path}/`),
  );
  const served = new Set(operation.dialect ? ends : [operation.path, ...ends]);
  return [...served].map((path) => [operation.id, path, operation] as const);
});

describe(`a generated request (JOUST_TEST_SEED=${seed})`, () => {
  it.each(places)(
    "never gets a 5xx response: %s at %s",
    async (id, path, operation) => {
      const { client } = joust;
      const own = `${id}${path.endsWith("/") ? "_lancedb" : ""}`;
      const make = () => client.createTable(own, items(20), { mode: "overwrite" });
      await make();
      await client.post(`/v1/namespace/${own}/create`, {});
      const method = operation.methods.includes("POST") ? "POST" : "GET";
      const requests = fc.record({
        at: paths(path, own),
        params: queries(operation),
        body: bodies(operation),
        headers,
        typed: fc.nat(9).map((one) => one > 0),
      });
      await fc.assert(
        fc.asyncProperty(requests, async ({ at, params, body, headers, typed }) => {
          const takesJson = operation.body.kind === "json" || operation.body.kind === "raw-json";
          // 0xFF begins an Arrow stream and never JSON.
          const isJson = takesJson && body[0] !== 0xff;
          const type = isJson === typed ? "application/json" : ARROW_STREAM;
          const request: RequestOptions = { method, params, headers };
          if (method === "POST" && operation.body.kind !== "none") {
            request.body = body;
            request.headers = { ...headers, "content-type": type };
          }
          const answer = await client.request(at, request);
          // A short deadline that the request itself sets ends it; what it changed is unknown.
          const ended = answer.status === 504 && "x-request-timeout-ms" in headers;
          expect(ended || answer.status < 500, answer.text).toBe(true);
          if ((ended || answer.status < 300) && operation.permission !== "read") await make();
        }),
        { seed, numRuns },
      );
      expect((await client.get("/healthz")).status).toBe(200);
    },
    120_000,
  );
});
