/** Which jobs a caller sees, for every combination of grants on what contains a table. */
import { beforeAll, expect, it } from "vitest";
import {
  namespaceObject,
  SERVER,
  type SecuredObject,
  tableObject,
} from "../../../src/catalog/grants/grants.js";
import { items } from "../../harness/arrow.js";
import type { Client } from "../../harness/client.js";
import { waitForJob } from "../../harness/jobs.js";
import { setupServer } from "../../harness/setup-server.js";
import { setupGrants } from "./grant-callers.js";

const joust = setupServer();
const granted = setupGrants(joust);
/** Of a table, and of one that was dropped. */
const ids: string[] = [];
let client: Client;
let subject = "";

beforeAll(async () => {
  await joust.client.createNamespace("ns");
  const index = { column: "id", index_type: "BTREE" };
  for (const name of ["t", "dropped"]) {
    await joust.client.createTable(`ns$${name}`, items(3));
    const built = await joust.client.ok(`/v1/table/ns%24${name}/create_index`, index);
    await waitForJob(joust.client, built.transaction_id);
    ids.push(built.transaction_id);
  }
  await joust.client.ok("/v1/table/ns%24dropped/drop");
  const caller = await granted.caller();
  client = caller.client;
  subject = `key:${caller.id}`;
});

const kinds = ["nothing", "insert", "select of some rows", "select"] as const;
type Kind = (typeof kinds)[number];
const combinations = kinds.flatMap((server) =>
  kinds.flatMap((namespace) => kinds.map((table) => [server, namespace, table] as const)),
);

async function grant(object: SecuredObject, kind: Kind): Promise<void> {
  if (kind === "nothing") return;
  if (kind === "select of some rows") {
    await granted.grants.grant(subject, object, ["select"], "id < 2");
  } else await granted.grants.grant(subject, object, [kind]);
}

it("a listing of jobs has exactly the jobs that the caller may describe", async () => {
  const objects = [SERVER, namespaceObject(["ns"]), tableObject(["ns", "t"])];
  let listed = 0;
  for (const combination of combinations) {
    for (const [at, kind] of combination.entries()) {
      await grant(objects[at] as SecuredObject, kind);
    }
    const { jobs } = await client.ok("/v1/jobs/list", {});
    for (const [at, id] of ids.entries()) {
      const { status } = await client.post("/v1/jobs/describe", { job_id: id });
      const isListed = jobs.some((one: { job_id: string }) => one.job_id === id);
      expect([at, ...combination, isListed]).toEqual([at, ...combination, status === 200]);
      if (isListed && at === 0) listed++;
    }
    for (const object of objects) {
      await granted.grants.revoke(subject, object, ["select", "insert"]);
    }
  }
  // All with `select` on one of the objects, and those with `insert` and without a filter.
  expect(listed).toBe(37 + 7);
});

it("the refresh of a view names no source that the caller may not read", async () => {
  const admin = joust.client;
  await admin.createNamespace("hidden");
  await admin.createTable("hidden$source", items(3));
  const query = 'SELECT id FROM "hidden$source"';
  const created = await admin.ok("/v1/materialized_view/ns$v/create", { query });
  expect((await waitForJob(admin, created.job_id)).job_state).toBe("DONE");
  const { client, id } = await granted.caller({ "table:ns$v": ["select"] });
  const describe = (job_id: string) => client.ok("/v1/jobs/describe", { job_id });
  const { result } = await describe(created.job_id);
  expect(result).toMatchObject({ rows_written: 3 });
  expect(result).not.toHaveProperty("sources");
  await granted.grants.grant(`key:${id}`, tableObject(["hidden", "source"]), ["select"]);
  const seen = (await describe(created.job_id)).result.sources;
  expect(seen).toEqual([expect.objectContaining({ table: ["hidden", "source"] })]);

  await admin.ok("/v1/table/hidden$source/drop");
  const refresh = await admin.ok("/v1/materialized_view/ns$v/refresh", {});
  const failed = await waitForJob(admin, refresh.job_id);
  expect(failed.failure.message).toContain("hidden$source");
  const { failure } = await describe(refresh.job_id);
  expect(failure.message).toMatch(/^the refresh of the view failed/);
  const { jobs } = await client.ok("/v1/jobs/list", {});
  const listed = jobs.find((one: { job_id: string }) => one.job_id === refresh.job_id);
  expect(listed.error).toBe(failure.message);
  const events = await client.post("/v1/jobs/query_events", { job_id: refresh.job_id });
  expect(events.status).toBe(200);
  expect(Buffer.from(events.bytes).includes("hidden$source")).toBe(false);
});
