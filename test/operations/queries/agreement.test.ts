import { Value } from "@sinclair/typebox/value";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { native } from "../../../src/engine/native.js";
import { queryRequest } from "../../../src/operations/queries/query-request.js";
import type { Json } from "../../harness/client.js";
import { containers, mutated } from "../../harness/mutated-values.js";
import { valuesOf } from "../../harness/schema-values.js";

const seed = Number(process.env.TEST_SEED ?? Date.now() % 1_000_000);

/** The engine's error for a body; undefined if it accepts the body. */
function refusal(text: string): string | undefined {
  try {
    native.checkQuery(Buffer.from(text));
    return undefined;
  } catch (error) {
    expect(error).toMatchObject({ name: "EngineError", code: 13 });
    return (error as Error).message;
  }
}

/** The schema's error for a body; undefined if it accepts the body. */
function mismatch(text: string): string | undefined {
  const body: Json = JSON.parse(text);
  const result = Value.Errors(queryRequest, [], body).First();
  if (result) return `${result.path}: ${result.message}`;
  return containers(known(body.full_text_query ?? {}) as Json)
    .map(beyondSchema)
    .find(Boolean);
}

/** The names of all members that the schema has at any place. */
const members = new Set<string>();
JSON.stringify(queryRequest, (name, value) => {
  if (name === "properties") for (const member of Object.keys(value)) members.add(member);
  return value;
});

/** A value without members of other names, which both sides ignore with all that is in them. */
function known(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(known);
  if (typeof value !== "object" || value === null) return value;
  const own = Object.entries(value).filter(([name]) => members.has(name));
  return Object.fromEntries(own.map(([name, member]) => [name, known(member)]));
}

/**
 * Rules that a schema cannot express: between two members of a text query, or two members that may be
 * empty.
 */
function beyondSchema({ multi_match, combined_fields, boolean }: Json): string | undefined {
  for (const one of [multi_match, combined_fields]) {
    const needsAll = one && !one.match_queries && Array.isArray(one.boost);
    if (needsAll && one.boost.length !== one.columns?.length) return "a boost for each column";
  }
  const clauses = boolean && [...(boolean.must ?? []), ...(boolean.should ?? [])];
  return clauses?.length === 0 ? "nothing that must or should be" : undefined;
}

/** Which side rejects the body, and why. */
function disagreement(body: unknown): string | undefined {
  const text = JSON.stringify(body);
  const [engine, schema] = [refusal(text), mismatch(text)];
  if ((engine === undefined) === (schema === undefined)) return undefined;
  return `${text}: engine ${engine ?? "takes it"}, schema ${schema ?? "takes it"}`;
}

const wrong: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, -1, 1.5, 2 ** 32, 2 ** 53, 2 ** 64, 1e39, -1e39, 1e300),
  fc.constantFrom<unknown>("", "x", [], [[]], [null], [1, "a"], ["a", 1], [[1], 2], {}, { x: 1 }),
  fc.constantFrom<unknown>({ column_names: {} }, { single_vector: [1], multi_vector: [[1]] }),
  fc.jsonValue({ maxDepth: 2 }),
);

describe(`the schema and the decoder of a query body (TEST_SEED=${seed})`, () => {
  const bodies = valuesOf(queryRequest) as fc.Arbitrary<Json>;

  it("accept bodies generated from the schema", () => {
    let taken = 0;
    fc.assert(
      fc.property(bodies, (body) => {
        expect(disagreement(body)).toBeUndefined();
        if (refusal(JSON.stringify(body)) === undefined) taken++;
      }),
      { seed, numRuns: 2_000 },
    );
    expect(taken).toBeGreaterThan(1_000);
  });

  it("agree on every body with one mutation", () => {
    let refused = 0;
    fc.assert(
      fc.property(mutated(bodies, wrong), (body) => {
        expect(disagreement(body)).toBeUndefined();
        if (refusal(JSON.stringify(body)) !== undefined) refused++;
      }),
      { seed, numRuns: 5_000 },
    );
    expect(refused).toBeGreaterThan(500);
  });

  it("agree on each member with each invalid value", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...Object.keys(queryRequest.properties)),
        wrong,
        (name, value) => {
          expect(disagreement({ k: 1, [name]: value })).toBeUndefined();
        },
      ),
      { seed, numRuns: 3_000 },
    );
  });

  it("reject values that are not objects", () => {
    for (const body of [[], [1], [null, null, null, 1], null, 1, "x", true]) {
      expect(refusal(JSON.stringify(body))).toBeDefined();
      expect(mismatch(JSON.stringify(body))).toBeDefined();
    }
  });
});
