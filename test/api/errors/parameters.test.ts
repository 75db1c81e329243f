import type { TSchema } from "@sinclair/typebox";
import pLimit from "p-limit";
import { beforeAll, describe, expect, it } from "vitest";
import type { Operation } from "../../../src/api/operation.js";
import { commonMembers } from "../../../src/api/schemas.js";
import { contract } from "../../../src/operations/index.js";
import { items } from "../../harness/arrow.js";
import type { Answer } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";
import { minimalBodies, pathOf } from "./cases/all-operations.js";
import { makeFixture } from "./fixture.js";
import { minimal, type Wrong, wrongValues } from "./wrong-values.js";

const joust = setupServer();

beforeAll(async () => {
  await makeFixture(joust.server);
});

const quoted = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** The message names the invalid member or one that contains it. */
const naming = (path: readonly string[]): RegExp => new RegExp(path.map(quoted).join("|"));

const operations = contract.map((operation) => [operation.id, operation] as const);

/** Bodies with one invalid value in a member of the operation or in a common member. */
function wrongBodies({ body }: Operation): Wrong[] {
  if (body.kind !== "json" && body.kind !== "raw-json") return [];
  const { schema } = body;
  // A map of strings has no members to name.
  if (schema.properties === undefined || typeof schema.additionalProperties === "object") return [];
  const properties = { ...commonMembers, ...schema.properties };
  const required: readonly string[] = schema.required ?? [];
  const base = minimal(schema);
  const result = Object.entries<TSchema>(properties).flatMap(([name, member]) =>
    wrongValues(member)
      // Null means absent.
      .filter(({ value, path }) => path.length > 0 || value !== null || required.includes(name))
      .map(({ value, path }) => ({ value: { ...base, [name]: value }, path: [name, ...path] })),
  );
  const missing = required.map((name) => {
    const { [name]: _, ...value } = base;
    return { value, path: [name] };
  });
  return [...result, ...missing];
}

/** Values of one query parameter with the wrong type or out of range. */
function wrongTexts(schema: TSchema): string[] {
  switch (schema.type) {
    case "integer":
      return [
        ...["x", "1.5", "-1", "true", "", "0x1"],
        ...(schema.minimum > 0 ? ["0"] : []),
        ...(schema.maximum > 0 ? ["1e300"] : []),
      ];
    case "boolean":
      return ["maybe", "1", "", "yes"];
    case "array":
      return wrongTexts(schema.items);
    default:
      return schema.minLength > 0 ? [""] : [];
  }
}

function wrongParams({ params }: Operation): { query: string; name: string }[] {
  const required: readonly string[] = params.required ?? [];
  const base = required.map((name) => `${name}=id`);
  return Object.entries<TSchema>(params.properties ?? {}).flatMap(([name, schema]) => {
    const others = base.filter((pair) => !pair.startsWith(`${name}=`));
    const wrong = wrongTexts(schema).map((text) => `${name}=${encodeURIComponent(text)}`);
    if (schema.type !== "array") wrong.push(`${name}=1&${name}=1`);
    const queries = wrong.map((pair) => ({ query: [...others, pair].join("&"), name }));
    return required.includes(name) ? [...queries, { query: others.join("&"), name }] : queries;
  });
}

const bodyOf = ({ id, body }: Operation) =>
  body.kind === "arrow" ? items(1) : (minimalBodies[id] ?? {});

/** A fetch of Node waits most of its time. */
const limit = pLimit(16);

/** Sends every invalid request of an operation to one of its paths. */
async function send(
  operation: Operation,
  path: string,
  check: (answer: Answer, sent: string, naming: readonly string[]) => void,
): Promise<void> {
  const { client } = joust;
  await limit.map(wrongBodies(operation), async ({ value, path: names }) =>
    check(await client.post(path, value), JSON.stringify(value), names),
  );
  const [method = "POST"] = operation.methods;
  await limit.map(wrongParams(operation), async ({ query, name }) => {
    const request = { method, ...(method === "POST" && { body: bodyOf(operation) }) };
    check(await client.request(`${path}?${query}`, request), query, [name]);
  });
}

describe("a request with a missing, mistyped or out-of-range parameter", () => {
  it.each(operations)(
    "gets a 400 response that names the parameter: %s",
    async (_, operation) => {
      await send(operation, pathOf(operation), (answer, sent, names) => {
        expect({ sent, status: answer.status }).toEqual({ sent, status: 400 });
        expectFailure(answer, 400, 13, naming(names));
      });
    },
    120_000,
  );

  /** The LanceDB SDKs retry on 409, 429 and 5xx. */
  it.each(operations)(
    "gets no status that the SDKs retry in the LanceDB dialect: %s",
    async (_, operation) => {
      await send(operation, `${pathOf(operation)}/`, (answer, sent) => {
        expect([409, 429], sent).not.toContain(answer.status);
        expect({ sent, status: answer.status < 500 }).toEqual({ sent, status: true });
      });
    },
    120_000,
  );
});
