import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { nextPageToken, readPageRequest } from "../../api/paging.js";
import { nextPage, page } from "../../api/schemas.js";
import type { Services } from "../../api/services.js";
import { ErrorCode, hasCode } from "../../foundation/errors.js";
import { onTable } from "../../tables/open-table.js";
import { shared } from "./view-schemas.js";

export const listMaterializedViews = operation({
  ...shared,
  id: "ListMaterializedViews",
  methods: ["GET", "POST"],
  path: "/v1/namespace/{id}/materialized_view/list",
  summary: "List the views among a namespace's tables, a page of tables at a time",
  params: page,
  body: { kind: "json", schema: page },
  reply: Type.Object({ views: Type.Array(Type.String()), page_token: nextPage }),
  permission: "read",
  uses: ["catalog", "config", "engine"],
  async handle(services, { id, params, payload }) {
    const { items, pageToken } = await services.catalog.listTables(
      id,
      { limit: TABLES, ...readPageRequest(params, payload) },
      { declared: false },
    );
    const views: string[] = [];
    for (const name of items) if (await isView(services, [...id, name])) views.push(name);
    return { kind: "json", value: { views, ...nextPageToken(pageToken) } };
  },
});

/** Tables that one reply looks at: what a table is stands in its own files. */
const TABLES = 100;

async function isView(
  services: Pick<Services, "catalog" | "config" | "engine">,
  id: readonly string[],
): Promise<boolean> {
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
