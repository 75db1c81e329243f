import { Int64 } from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import type { Operation } from "../../src/api/operation.js";
import { roles } from "../../src/auth/roles.js";
import { operations, translations } from "../../src/operations/index.js";
import { items } from "../harness/arrow.js";
import { createKey } from "../harness/cli.js";
import type { Answer, Client } from "../harness/client.js";
import { expectFailure } from "../harness/expect-failure.js";
import { setupServer } from "../harness/setup-server.js";
import { schema } from "../operations/views/view-client.js";

const joust = setupServer();
const as = {} as Record<(typeof roles)[number], Client>;

beforeAll(async () => {
  for (const role of roles) {
    const { key } = await createKey(joust.root, role);
    as[role] = joust.client.withKey(key);
  }
});

const encoded = (id: string) => encodeURIComponent(id);

/** A request with a valid body kind on a missing table or namespace; only authorization matters. */
function send(client: Client, { methods, path, body }: Operation): Promise<Answer> {
  const filled = path.replace("{id}", "none").replace(/\{\w+\}/g, "0");
  const method = methods.at(-1) as string;
  const sent =
    body.kind === "none" || method === "GET" ? {} : { body: body.kind === "arrow" ? items(1) : {} };
  return client.request(filled, { method, ...sent });
}

describe("every operation", () => {
  it.each(operations.map((operation) => [operation.id, operation] as const))(
    "%s returns 403 for roles below its permission and for no other role",
    async (id, operation) => {
      for (const [rank, role] of roles.entries()) {
        const reply = await send(as[role], operation);
        if (rank >= roles.indexOf(operation.permission)) {
          expect([role, reply.status]).not.toEqual([role, 403]);
          continue;
        }
        const detail = new RegExp(`\`${role}\`.*${id} needs ${operation.permission}`);
        expectFailure(reply, 403, 15, detail);
      }
    },
  );

  it("requires the same permission in the LanceDB dialect", async () => {
    for (const translation of translations) {
      const canonical = operations.find(({ id }) => id === translation.operation) as Operation;
      const path = translation.path ?? (canonical.dialect ? canonical.path : `${canonical.path}/`);
      const operation = { ...canonical, path, methods: translation.methods ?? canonical.methods };
      const reply = await send(as.read, operation);
      const isRefused = canonical.permission !== "read";
      expect([path, reply.status === 403]).toEqual([path, isRefused]);
    }
  });
});

const name = "roles";
const table = `/v1/table/${name}`;
const virtual_column = { input_columns: ["id"], udf: "AAAA", udf_name: "f", data_type: "int64" };
const udtf_spec = {
  python: { source: "def f(id): return []", entry: "f" },
  input_columns: ["id"],
  outputs: [{ column: "word", data_type: "utf8" }],
};
/** A view of the ids. */
const viewOf = (table: string) => ({
  source_query: `SELECT id FROM ${table}`,
  output_schema: schema({ id: new Int64() }),
});
const adminProperties = { "joust.keep_versions": "0s" };

/** Operations of which only some requests need `admin`: those requests, and a similar one that does not. */
const partly: Record<
  string,
  { admin: [string, object | Uint8Array][]; write: [string, object | Uint8Array] }
> = {
  CreateNamespace: {
    admin: [["/v1/namespace/emptied/create", { mode: "Overwrite" }]],
    write: ["/v1/namespace/emptied/create", { mode: "ExistOk" }],
  },
  DropNamespace: {
    admin: [["/v1/namespace/emptied/drop", { behavior: "cascade" }]],
    write: ["/v1/namespace/emptied/drop", { behavior: "Restrict" }],
  },
  CreateTable: {
    admin: [
      [`/v1/table/steered/create?properties=${encoded(JSON.stringify(adminProperties))}`, items(1)],
    ],
    write: [`/v1/table/plain/create?properties=${encoded('{"owner":"me"}')}`, items(1)],
  },
  UpdateTable: {
    admin: [[`${table}/update`, { updates: [["price", "1"]], properties: adminProperties }]],
    write: [`${table}/update`, { updates: [["price", "1"]], properties: { owner: "me" } }],
  },
  DeclareTable: {
    admin: [
      ["/v1/table/declared/declare", { location: "elsewhere" }],
      ["/v1/table/declared/declare", { properties: { "joust.maintenance": "off" } }],
    ],
    write: ["/v1/table/declared/declare", { properties: { owner: "me" } }],
  },
  AlterTableAddColumns: {
    admin: [[`${table}/add_columns`, { new_columns: [{ name: "f", virtual_column }] }]],
    write: [`${table}/add_columns`, { new_columns: [{ name: "twice", expression: "id * 2" }] }],
  },
  AlterTableAlterColumns: {
    admin: [
      [
        `${table}/alter_columns`,
        { alterations: [{ path: "f", virtual_column: { udf_name: "g" } }] },
      ],
    ],
    write: [`${table}/alter_columns`, { alterations: [{ path: "twice", rename: "double" }] }],
  },
  UpdateFieldMetadata: {
    admin: [
      { "virtual_column.image": "registry.example/other" },
      { unit: "m", virtual_column: "true" },
      { "virtual_column.manifest": null },
    ].map((metadata) => [
      `${table}/update_field_metadata`,
      {
        updates: [
          { path: "id", metadata: { unit: "m" } },
          { path: "id", metadata },
        ],
      },
    ]),
    write: [
      `${table}/update_field_metadata`,
      { updates: [{ path: "id", metadata: { unit: "m", virtual_columns: "none" } }] },
    ],
  },
  BatchCommitTables: {
    admin: [
      { declare_table: { id: ["batch"], location: "elsewhere" } },
      { declare_table: { id: ["batch"], properties: adminProperties } },
      { deregister_table: { id: [name] } },
      { delete_table_versions: { id: [name], ranges: [{ start_version: 0, end_version: 1 }] } },
    ].map((one) => [
      "/v1/table/batch-commit",
      { operations: [{ declare_table: { id: ["beside"] } }, one] },
    ]),
    write: ["/v1/table/batch-commit", { operations: [{ declare_table: { id: ["batch"] } }] }],
  },
  CreateMaterializedView: {
    admin: [
      [
        "/v1/materialized_view/expanded/create",
        { ...viewOf(name), kind: "chunker", output_schema: null, udtf_spec },
      ],
    ],
    write: ["/v1/materialized_view/selected/create", { ...viewOf(name), kind: "query" }],
  },
  CloneTable: {
    admin: [["/v1/table/copied/clone", { source_location: "unlisted.lance" }]],
    write: ["/v1/table/copied/clone", { source_location: `${name}.lance` }],
  },
};

describe("requests that need admin", () => {
  beforeAll(async () => {
    await joust.client.createNamespace("emptied");
    await joust.client.createTable(name, items(3));
    await joust.client.createTable("unlisted", items(3));
    await joust.client.ok("/v1/table/unlisted/deregister");
  });

  it("are listed here for each operation that declares some", () => {
    const declared = operations.filter((operation) => operation.administrative);
    expect(Object.keys(partly).sort()).toEqual(declared.map(({ id }) => id).sort());
  });

  it.each(Object.entries(partly))(
    "return 403 for a writer, and other requests of the operation succeed: %s",
    async (id, { admin, write }) => {
      for (const [path, body] of admin) {
        expectFailure(
          await as.write.post(path, body),
          403,
          15,
          new RegExp(`${id} needs admin to `),
        );
      }
      const [path, body] = write;
      const reply = await as.write.post(path, body);
      expect([reply.status < 300, reply.text]).toEqual([true, reply.text]);
    },
  );

  it("succeed for an admin", async () => {
    const { admin } = as;
    await admin.createNamespace("filled");
    await admin.createTable("filled$t", items(1));
    expect((await admin.post("/v1/namespace/filled/drop", { behavior: "Cascade" })).status).toBe(
      200,
    );
    expect((await admin.post("/v1/table/placed/declare", { location: "elsewhere" })).status).toBe(
      200,
    );
    const copied = { source_location: "unlisted.lance" };
    expect((await admin.post("/v1/table/copied_too/clone", copied)).status).toBe(200);
    const body = { new_columns: [{ name: "f", virtual_column }] };
    expect((await admin.post(`${table}/add_columns`, body)).status).toBe(200);
  });

  it("are recognized in both dialects", async () => {
    const body = { new_columns: [{ name: "g", virtual_column }] };
    expectFailure(await as.write.post(`${table}/add_columns/`, body), 403, 15, /admin/);
    const header = { "x-lance-table-properties": JSON.stringify(adminProperties) };
    const created = await as.write.request("/v1/table/steered/create/", {
      body: items(1),
      headers: header,
    });
    expectFailure(created, 403, 15, /joust/);
    expectFailure(await as.write.post("/v1/table/steered/exists"), 404, 4);
  });
});
