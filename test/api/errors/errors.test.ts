import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { contract } from "../../../src/operations/index.js";
import { createKey } from "../../harness/cli.js";
import type { Json } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";
import { type Case, send } from "./case.js";
import { everyOperation, minimalBodies, pathOf } from "./cases/all-operations.js";
import { columns } from "./cases/columns.js";
import { indexes } from "./cases/indexes.js";
import { work } from "./cases/jobs.js";
import { namespaces } from "./cases/namespaces.js";
import { queries } from "./cases/queries.js";
import { refs } from "./cases/refs.js";
import { rows } from "./cases/rows.js";
import { tables } from "./cases/tables.js";
import { versions } from "./cases/versions.js";
import { views } from "./cases/views.js";
import { type Fixture, makeFixture } from "./fixture.js";

const joust = setupServer({ args: ["--max-json-bytes", "64KiB", "--max-upload-bytes", "256KiB"] });
let reader: string;
let cases: readonly Case[];

beforeAll(async () => {
  cases = allCases(await makeFixture(joust.server));
  reader = (await createKey(joust.root, "read")).key;
});

/** Placeholder names for titles; the cases run with the names of the real fixture. */
const placeholders: Fixture = {
  transaction: "x",
  job: "x",
  staged: "x",
  location: "x",
  unnamed: "x",
};
const allCases = (known: Fixture): Case[] => [
  ...everyOperation(),
  ...namespaces,
  ...tables(known),
  ...rows,
  ...queries,
  ...indexes,
  ...columns,
  ...versions(known),
  ...views,
  ...refs,
  ...work(known),
];

describe("a failing request", () => {
  const titles = allCases(placeholders).map(
    ({ operation, why }, at) => [operation, why, at] as const,
  );

  it.each(titles)("of %s returns its status, code and detail: %s", async (_, __, at) => {
    const one = cases[at] as Case;
    expectFailure(await send(joust.client, one), one.status, one.code, one.detail);
  });

  /** The LanceDB SDKs retry on 409, 429 and 5xx and then hide the message. */
  it.each(titles)(
    "of %s in the LanceDB dialect returns no status that the SDKs retry: %s",
    async (operation, __, at) => {
      const one = cases[at] as Case;
      const [path, query] = one.path.split("?");
      const slashed = { ...one, path: `${path}/${query === undefined ? "" : `?${query}`}` };
      const answer = await send(joust.client, slashed);
      // Operations without a route in the SDKs return 404 like any unknown path.
      expect(answer.status, answer.text).toBeLessThan(500);
      if (operation === "CreateTableBranch" && one.code === 23) expect(answer.status).toBe(409);
      else expect([409, 429]).not.toContain(answer.status);
      if (answer.status >= 400) expectFailure(answer, answer.status, answer.json.code);
    },
  );
});

it("the error cases cover every operation", () => {
  const tested = new Set(allCases(placeholders).map(({ operation }) => operation));
  expect(contract.map(({ id }) => id).filter((id) => !tested.has(id))).toEqual([]);
});

describe("a caller without permission", () => {
  const operations = contract.map((operation) => [operation.id, operation] as const);

  it.each(operations)("gets 401 from %s without a valid key", async (id, operation) => {
    const [method = "POST"] = operation.methods;
    const request = { method, ...(method === "POST" && { body: minimalBodies[id] ?? {} }) };
    for (const key of ["", "joust_wrong"]) {
      const answer = await joust.client.withKey(key).request(pathOf(operation), request);
      expectFailure(answer, 401, 16);
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    }
  });

  it.each(operations)(
    "gets 403 from %s with a read key, unless read is enough",
    async (id, operation) => {
      const [method = "POST"] = operation.methods;
      const json = operation.body.kind !== "arrow" && method === "POST";
      const request = { method, ...(json && { body: minimalBodies[id] ?? {} }) };
      const answer = await joust.client.withKey(reader).request(pathOf(operation), request);
      if (operation.permission === "read") expect(answer.status).not.toBe(403);
      else expectFailure(answer, 403, 15, new RegExp(`read; ${id} needs ${operation.permission}`));
    },
  );
});

/** Why an error that the interface lists for an operation cannot occur in joust. */
const unreachable: [status: string, operation: RegExp, why: string][] = [
  ["403", /^(List|Describe|Get|Count|Query|Explain|Analyze)|Exists$/, "every key may read"],
  ["406", /^(Create|List)Namespaces?$|^(Register|List)Tables?$/, "all of it is supported"],
  ["503", /./, "tested with an unavailable catalog: unavailable.test.ts"],
  ["5XX", /./, "a failure of the server itself, which no request may cause"],
];

const file = fileURLToPath(new URL("../../../../shared/contract/openapi.yaml", import.meta.url));

describe.skipIf(!existsSync(file))(
  "the errors in the OpenAPI document of the public interface",
  () => {
    const served = new Map(contract.map((operation) => [operation.id, operation]));
    const tested = new Set([
      ...allCases(placeholders).map(({ operation, status }) => `${operation} ${status}`),
      ...contract.map(({ id }) => `${id} 401`),
      ...contract.filter(({ permission }) => permission !== "read").map(({ id }) => `${id} 403`),
    ]);

    it("are each covered by a case or listed as unreachable with a reason", () => {
      const { paths } = parse(readFileSync(file, "utf8"));
      const operations = Object.values<Json>(paths).flatMap((item) =>
        Object.values<Json>(item).filter((one) => served.has(one.operationId)),
      );
      const listed = operations.flatMap(({ operationId, responses }) =>
        Object.keys(responses)
          .filter((status) => status === "5XX" || Number(status) >= 400)
          .map((status) => [operationId, status] as const),
      );
      const left = listed.filter(
        ([id, status]) =>
          !tested.has(`${id} ${status}`) &&
          !unreachable.some(([other, pattern]) => other === status && pattern.test(id)),
      );
      expect(left).toEqual([]);
    });
  },
);
