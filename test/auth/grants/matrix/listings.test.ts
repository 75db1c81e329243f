/** Every listing as every kind of caller shows exactly the objects that the caller may see. */
import { expect, it } from "vitest";
import type { Answer } from "../../../harness/client.js";
import { objectOf } from "../grant-callers.js";
import { type ActiveCaller, callers, isUnknown } from "./callers.js";
import type { Names } from "./case.js";
import { Holdings } from "./outcome.js";
import { setupMatrix } from "./setup.js";

const matrix = await setupMatrix();
const tables = ["sales$drafts", "sales$orders", "sales$payroll", "sales$totals", "vault$gold"];
const inSales = tables.filter((name) => name.startsWith("sales$"));
const plain = (name: string) => name.slice(name.indexOf("$") + 1);

const list = (caller: ActiveCaller, path: string, body?: object): Promise<Answer> =>
  caller.client.request(path, { method: body ? "POST" : "GET", ...(body && { body }) });

const rowsOf = (answer: Answer, member: string): string[] => {
  expect(answer.status, answer.text).toBe(200);
  return [...answer.json[member]].sort();
};

/** The listing of what is in a namespace that the caller may not see returns 404. */
async function expectListing(
  caller: ActiveCaller,
  path: string,
  member: string,
  expected: readonly string[] | undefined,
): Promise<void> {
  const answer = await list(caller, path);
  if (expected === undefined) expect([path, answer.status]).toEqual([path, 404]);
  else expect([path, rowsOf(answer, member)]).toEqual([path, expected]);
}

const known = callers.filter((caller) => !isUnknown(caller)).map(({ name }) => name);

it.each(known)("a %s sees no other object in a listing", async (name) => {
  const caller = matrix.callers.find((one) => one.name === name) as ActiveCaller;
  const names: Names = await matrix.names();
  const holdings = new Holdings(caller, names);
  const sees = (object: string) => holdings.sees(objectOf(object));
  const visible = tables.filter((table) => sees(`table:${table}`));
  const namespaces = ["sales", "vault"].filter((one) => sees(`namespace:${one}`));
  const within = (all: readonly string[]) =>
    namespaces.includes("sales") ? all.filter((one) => visible.includes(one)) : undefined;

  await expectListing(caller, "/v1/table", "tables", visible);
  await expectListing(caller, "/v1/table?limit=1", "tables", visible.slice(0, 1));
  await expectListing(caller, "/v1/namespace/%24/list", "namespaces", namespaces);
  await expectListing(
    caller,
    "/v1/namespace/sales/table/list",
    "tables",
    within(inSales)?.map(plain),
  );

  const views = await list(caller, "/v1/namespace/sales/materialized_view/list");
  const seen = within(["sales$totals"]);
  expect(views.status).toBe(seen === undefined ? 404 : 200);
  if (seen) expect(views.text.includes("totals")).toBe(seen.length === 1);

  const jobs = await list(caller, "/v1/jobs/list", {});
  expect(jobs.status).toBe(200);
  const ids = jobs.json.jobs.map((job: { job_id: string }) => job.job_id);
  expect(ids.includes(names.job)).toBe(visible.includes("sales$orders"));

  // SQL reads only what the caller may select, and lists what it may see.
  const query = "SELECT table_schema || '$' || table_name AS name FROM information_schema.tables";
  const listed = await caller.client.request("/v1/sql", {
    body: { query: `${query} WHERE table_schema IN ('sales', 'vault') ORDER BY name` },
    headers: { accept: "application/json" },
  });
  expect(listed.status, listed.text).toBe(200);
  const inSql = listed.json.rows.map((row: { name: string }) => row.name);
  expect(inSql).toEqual(visible);
});
