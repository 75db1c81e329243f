/** Every operation as every kind of caller: the expected outcomes follow from the declared access. */
import { beforeAll, describe, expect, it } from "vitest";
import type { Requirement } from "../../../src/api/access.js";
import type { Operation } from "../../../src/api/operation.js";
import type { SecuredObject } from "../../../src/catalog/grants/grants.js";
import {
  covers,
  namesOf,
  type Privilege,
  privileges,
  roleBundles,
  setOf,
} from "../../../src/catalog/grants/privileges.js";
import { operations, translations } from "../../../src/operations/index.js";
import { minimalBodies } from "../../api/errors/cases/all-operations.js";
import { items } from "../../harness/arrow.js";
import { createKey } from "../../harness/cli.js";
import type { Answer, Client } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { waitForJob } from "../../harness/jobs.js";
import { setupServer } from "../../harness/setup-server.js";
import { readsView } from "./expected-access.js";
import { objectOf, setupGrants } from "./grant-callers.js";

const joust = setupServer();
const grants = setupGrants(joust);

interface Caller {
  readonly name: string;
  readonly role: keyof typeof roleBundles | "keyless";
  readonly granted: Record<string, readonly Privilege[]>;
  /** The table in the paths of its requests; default: one that does not exist. */
  readonly table?: string;
}

const callers: readonly Caller[] = [
  { name: "no key", role: "keyless", granted: {} },
  { name: "no grant", role: "none", granted: {} },
  { name: "select on one table", role: "none", granted: { "table:ns$t": ["select"] }, table: "t" },
  ...privileges.map(
    (privilege): Caller => ({
      name: `${privilege} on the namespace`,
      role: "none",
      granted: { "namespace:ns": [privilege] },
    }),
  ),
  { name: "select on the server", role: "none", granted: { server: ["select"] } },
  { name: "read and insert", role: "read", granted: { "namespace:ns": ["insert"] } },
  { name: "read", role: "read", granted: {} },
  { name: "write", role: "write", granted: {} },
  { name: "admin", role: "admin", granted: {} },
];

const clients = new Map<string, Client>();
let job = "";
let transaction = "";
let location = "";

beforeAll(async () => {
  await joust.client.createNamespace("ns");
  await joust.client.createTable("ns$t", items(3));
  const path = "/v1/table/ns%24t/create_scalar_index";
  const indexed = await joust.client.ok(path, { column: "id", index_type: "BTREE" });
  job = indexed.transaction_id;
  await waitForJob(joust.client, job);
  location = (await joust.client.ok("/v1/table/ns%24t/describe")).location;
  const tagged = await joust.client.ok("/v1/table/ns%24t/tags/create", { tag: "a", version: 1 });
  transaction = tagged.transaction_id;
  for (const { name, role, granted } of callers) {
    if (role === "keyless") clients.set(name, joust.client.withKey(""));
    else if (role === "none") clients.set(name, (await grants.caller(granted)).client);
    else {
      const { key, id } = await createKey(joust.root, role);
      for (const [object, names] of Object.entries(granted)) {
        await grants.grants.grant(`key:${id}`, objectOf(object), names);
      }
      clients.set(name, joust.client.withKey(key));
    }
  }
});

// The requests.

interface Sent {
  readonly path: string;
  readonly method: "GET" | "POST";
  readonly body: object | Uint8Array | undefined;
  /** The object of the path. */
  readonly id: readonly string[];
}

/** Bodies with which an operation looks up its object in the namespace `ns`, and that change nothing there. */
const bodies = (table: string): Record<string, object> => ({
  ...minimalBodies,
  BatchCreateTableVersions: {
    entries: [{ id: ["ns", table], version: 9, manifest_path: "x" }],
  },
  BatchCommitTables: {
    operations: [
      { create_table_version: { id: ["ns", table], version: 9, manifest_path: "x" } },
      { declare_table: { id: ["ns", "declared"] } },
    ],
  },
  RenameTable: { new_table_name: "renamed" },
  ExecuteSql: { query: "SELECT id FROM ns.t" },
  CreateMaterializedView: { query: `SELECT missing FROM "ns$t"` },
  CloneTable: { source_location: location },
  FetchTableBlobs: { column: "id", row_ids: [0] },
  DiffTableBranch: { from_branch: "none" },
  CherryPickTableBranch: { from_branch: "none" },
  ListGrants: { object: "database:ns" },
  AddGrant: { subject: `g:matrix${unique}`, object: "database:ns", privilege: "SELECT" },
  DeleteGrant: { subject: "g:unknown", object: "database:ns", privilege: "SELECT" },
  AddRoleBinding: { subject: "g:matrix", role: "read" },
  DeleteRoleBinding: { subject: "g:matrix", role: "write" },
  DescribePrincipal: { principal: "p:user:issuer#subject" },
  DescribeGroup: { group: "g:matrix" },
  PrewarmTablePageCache: { columns: ["id"] },
});

let unique = 0;

function requestOf(
  operation: Operation,
  caller: Caller,
  { path, methods }: Pick<Operation, "path" | "methods"> = operation,
): Sent {
  const { access, id: name, body } = operation;
  unique += 1;
  const table = caller.table ?? `absent${unique}`;
  const id =
    access.on === "transaction object"
      ? [transaction]
      : access.on === "new namespace" || access.on === "new table"
        ? ["ns", `new${unique}`]
        : access.on === "namespace"
          ? ["ns"]
          : path.includes("/table/{id}") || path.includes("_view/{id}")
            ? ["ns", table]
            : ["ns"];
  const filled = path
    .replace("{id}", encodeURIComponent(id.join("$")))
    .replace(/\{\w+\}/g, "0")
    // Parameters that the operation needs before it looks up its object.
    .concat(requiredParams(operation));
  const method = methods.at(-1) as "GET" | "POST";
  if (method === "GET" || body.kind === "none")
    return { path: filled, method, body: undefined, id };
  if (access.on === "job table") return { path: filled, method, body: { job_id: job }, id };
  // Not Arrow: a caller that passes gets 400, and no table is created.
  if (body.kind === "arrow") return { path: filled, method, body: new Uint8Array([1, 2, 3]), id };
  return { path: filled, method, body: bodies(table)[name] ?? {}, id };
}

function requiredParams({ params }: Operation): string {
  const required: readonly string[] = params.required ?? [];
  return required.length === 0 ? "" : `?${required.map((name) => `${name}=x`).join("&")}`;
}

const send = (client: Client, { path, method, body }: Sent): Promise<Answer> =>
  client.request(path, { method, ...(body !== undefined && { body }) });

// The expected outcomes.

/** What a caller holds on an object, by the rules of docs/secure.md. */
function heldOn({ role, granted }: Caller, object: SecuredObject): number {
  let held = role === "keyless" ? 0 : roleBundles[role];
  const path = object.kind === "server" ? [] : object.kind === "table" ? object.id : object.path;
  for (const [text, names] of Object.entries(granted)) {
    const one = objectOf(text);
    const contains =
      one.kind === "server" ||
      (one.kind === "namespace" &&
        one.path.every((name, depth) => path[depth] === name) &&
        object.kind !== "server") ||
      (one.kind === "table" && object.kind === "table" && one.id.join() === path.join());
    if (contains) held |= setOf(names);
  }
  return held;
}

/** Every object of the matrix is in `ns`: a caller with any grant in it sees the namespace. */
const sees = (caller: Caller, object: SecuredObject): boolean =>
  object.kind === "server" ||
  heldOn(caller, object) !== 0 ||
  (object.kind === "namespace" && Object.keys(caller.granted).length > 0);

/** Operations whose body names the table `ns$t` as a source. */
const readsTable = new Set(["CloneTable", "CreateMaterializedView"]);

/** Operations that also need the sources of the view in the path. Here it is a table, and grants.test.ts has views. */
const readsViews = new Set(readsView);

async function requirementsOf(operation: Operation, sent: Sent): Promise<Requirement[]> {
  const { access } = operation;
  const { privileges } = access;
  const parent = objectOf("namespace:ns");
  const table = objectOf("table:ns$t");
  const declared: Record<typeof access.on, Requirement[]> = {
    table: [{ object: { kind: "table", id: sent.id }, privileges }],
    namespace: [{ object: parent, privileges }],
    "new table": [{ object: parent, privileges }],
    "new namespace": [{ object: parent, privileges }],
    "job table": [{ object: table, privileges }],
    "transaction object": [{ object: table, privileges }],
    "named tables": [{ object: table, privileges }],
    server: [{ object: { kind: "server" }, privileges }],
    body: [],
    nothing: [],
  };
  const call = { id: sent.id, params: { on: ["id"] }, payload: sent.body };
  const reads = readsViews.has(operation.id) ? undefined : access.also;
  // biome-ignore lint/suspicious/noExplicitAny: only these members of a call are read
  const also = (await reads?.(call as any, {} as any)) ?? [];
  const sources: Requirement[] = readsTable.has(operation.id)
    ? [{ object: table, privileges: ["select"] }]
    : [];
  return [...declared[access.on], ...also, ...sources];
}

type Outcome =
  | { kind: "unauthenticated" | "hidden" | "passes" }
  | { kind: "denied"; missing: readonly Privilege[] };

async function expected(operation: Operation, caller: Caller, sent: Sent): Promise<Outcome> {
  if (caller.role === "keyless") return { kind: "unauthenticated" };
  if (
    covers(
      roleBundles[caller.role],
      setOf([...operation.access.privileges, ...(operation.access.sometimes ?? [])]),
    )
  ) {
    if (caller.role !== "none") return { kind: "passes" };
  }
  for (const { object, privileges } of await requirementsOf(operation, sent)) {
    if (!sees(caller, object)) return { kind: "hidden" };
    const missing = setOf(privileges) & ~heldOn(caller, object);
    if (missing !== 0) return { kind: "denied", missing: namesOf(missing) };
  }
  return { kind: "passes" };
}

/** The answer without the names of its request. */
const shape = ({ status, text }: Answer) => {
  if (status < 400) return { status };
  const { code, detail } = JSON.parse(text);
  return { status, code, detail: detail.replace(/absent\d+|new\d+/g, "NAME") };
};

/** The same request for a namespace, a job or a transaction that does not exist. */
function missingTwin(sent: Sent): Sent {
  const rename = (text: string) =>
    text
      .replace(/\bns(?=%24|\$|"|\/|\.|\?|$)/g, "zz")
      .replaceAll(job, "no-job")
      .replaceAll(transaction, "no-transaction");
  return {
    ...sent,
    path: rename(sent.path),
    body:
      sent.body === undefined || sent.body instanceof Uint8Array
        ? sent.body
        : JSON.parse(rename(JSON.stringify(sent.body))),
  };
}

const asMissing = (answer: ReturnType<typeof shape>) =>
  JSON.parse(
    JSON.stringify(answer)
      .replace(/\bns\b/g, "zz")
      .replaceAll(job, "no-job")
      .replaceAll(transaction.slice(0, 80), "no-transaction"),
  );

async function check(
  operation: Operation,
  caller: Caller,
  route?: typeof operation,
): Promise<void> {
  const client = clients.get(caller.name) as Client;
  const sent = requestOf(operation, caller, route);
  const outcome = await expected(operation, caller, sent);
  const answer = await send(client, sent);
  const title = `${operation.id} as ${caller.name}: ${answer.text.slice(0, 300)}`;
  switch (outcome.kind) {
    case "unauthenticated":
      expectFailure(answer, 401, 16);
      return;
    case "denied": {
      expect(answer.status, title).toBe(403);
      // A caller without any grant gets the name of the role, as before grants.
      const word = Object.keys(caller.granted).length > 0 || caller.role === "none";
      const names = new RegExp(outcome.missing.join(".*"));
      expectFailure(answer, 403, 15, word ? names : /needs (write|admin)/);
      return;
    }
    case "hidden": {
      expect(answer.status, title).toBe(404);
      const twin = await send(client, missingTwin(sent));
      expect(asMissing(shape(answer)), title).toEqual(shape(twin));
      return;
    }
    case "passes": {
      const admin = shape(await send(joust.client, requestOf(operation, caller, route)));
      expect([title, shape(answer)]).toEqual([title, admin]);
      expect(answer.status, title).not.toBe(403);
    }
  }
}

describe("every operation", () => {
  it.each(operations.map((operation) => [operation.id, operation] as const))(
    "%s admits exactly the callers that its declared access names",
    async (_, operation) => {
      for (const caller of callers) await check(operation, caller);
    },
  );

  it("declares its access", () => {
    for (const { id, access, path, permission } of operations) {
      const needed = setOf([...access.privileges, ...(access.sometimes ?? [])]);
      expect([id, covers(roleBundles[permission], needed)]).toEqual([id, true]);
      if (access.on === "body") expect([id, typeof access.also]).toEqual([id, "function"]);
      if (access.on === "table") expect([id, path]).toEqual([id, expect.stringContaining("/{id}")]);
    }
  });
});

describe("every operation in the LanceDB dialect", () => {
  const routes = translations.map((translation) => {
    const operation = operations.find(({ id }) => id === translation.operation) as Operation;
    const path = translation.path ?? (operation.dialect ? operation.path : `${operation.path}/`);
    return { ...operation, path, methods: translation.methods ?? operation.methods };
  });
  const some = callers.filter(({ name }) =>
    ["no grant", "insert on the namespace", "select on one table"].includes(name),
  );

  it.each(routes.map((route) => [route.id, route] as const))(
    "%s admits the same callers",
    async (id, route) => {
      // Lists the root, which every caller sees, and ends a drop of a missing table with 200.
      if (id === "ListTables" || id === "DropTable") return;
      const operation = operations.find((one) => one.id === id) as Operation;
      for (const caller of some) await check(translated(operation), caller, route);
    },
  );
});

/** This dialect renames the members of some bodies. */
const translated = (operation: Operation): Operation => operation;
