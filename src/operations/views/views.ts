/** What the LanceDB SDKs ask of views beside creating and refreshing them. */
import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { nextPageToken, pageRequest } from "../../api/paging.js";
import { nextPage, nothing, page } from "../../api/schemas.js";
import type { Services } from "../../api/services.js";
import { ErrorCode, hasCode } from "../../foundation/errors.js";
import { onTable } from "../../tables/open-table.js";
import { dropTable } from "../../tables/table-removal.js";
import { droppedTable } from "../tables/dropped-table.js";

const shared = { tag: "View", params: nothing } as const;

const describeMaterializedView = operation({
  ...shared,
  id: "DescribeMaterializedView",
  methods: ["POST"],
  path: "/v1/materialized_view/{id}/describe",
  summary: "Tell a view's query and the tables that it reads",
  body: { kind: "json", schema: nothing },
  reply: Type.Object({
    query: Type.String(),
    source_table: Type.String({ description: "the first of the tables" }),
    source_namespace: Type.Array(Type.String()),
    tables: Type.Array(Type.Array(Type.String())),
  }),
  permission: "read",
  handle: (services, { id }) =>
    onTable(services, id, async ({ table }) => {
      const { sql, tables } = await table.view();
      const [source = []] = tables.map((named) => named.table);
      return {
        kind: "json",
        value: {
          query: sql,
          source_table: source.at(-1) ?? "",
          source_namespace: source.slice(0, -1),
          tables: tables.map((named) => named.table),
        },
      };
    }),
});

const dropMaterializedView = operation({
  ...shared,
  id: "DropMaterializedView",
  methods: ["POST"],
  path: "/v1/materialized_view/{id}/drop",
  summary: "Drop a view and remove its files; the tables that it reads stay",
  body: { kind: "json", schema: nothing },
  reply: droppedTable,
  permission: "write",
  async handle(services, { id }) {
    const key = await onTable(services, id, async ({ record, table }) => {
      await table.view();
      return record.key;
    });
    return dropTable(services, id, key);
  },
});

const listMaterializedViews = operation({
  ...shared,
  id: "ListMaterializedViews",
  methods: ["GET", "POST"],
  path: "/v1/namespace/{id}/materialized_view/list",
  summary: "List the views among a namespace's tables, a page of tables at a time",
  params: page,
  body: { kind: "json", schema: page },
  reply: Type.Object({ views: Type.Array(Type.String()), page_token: nextPage }),
  permission: "read",
  async handle(services, { id, params, payload }) {
    const { items, pageToken } = await services.catalog.listTables(
      id,
      { limit: TABLES, ...pageRequest(params, payload) },
      { declared: false },
    );
    const views: string[] = [];
    for (const name of items) if (await isView(services, [...id, name])) views.push(name);
    return { kind: "json", value: { views, ...nextPageToken(pageToken) } };
  },
});

/** Tables that one reply looks at: what a table is stands in its own files. */
const TABLES = 100;

async function isView(services: Services, id: readonly string[]): Promise<boolean> {
  try {
    await onTable(services, id, ({ table }) => table.view());
    return true;
  } catch (error) {
    // No view, or dropped meanwhile.
    const others = [ErrorCode.InvalidTableState, ErrorCode.TableNotFound];
    if (others.some((code) => hasCode(error, code))) return false;
    throw error;
  }
}

export const views = [describeMaterializedView, dropMaterializedView, listMaterializedViews];
