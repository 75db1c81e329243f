import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { nextPageToken, readPageRequest } from "../../api/paging.js";
import { nextPage, page } from "../../api/schemas.js";
import type { Services } from "../../api/services.js";
import { ErrorCode, hasCode } from "../../foundation/errors.js";
import { onTable } from "../../tables/open-table.js";

export const listMaterializedViews = operation({
  id: "ListMaterializedViews",
  methods: ["GET", "POST"],
  path: "/v1/namespace/{id}/materialized_view/list",
  summary: "List the views in a namespace; each page covers one page of its tables",
  tag: "View",
  params: page,
  body: { kind: "json", schema: page },
  reply: Type.Object({ views: Type.Array(Type.String()), page_token: nextPage }),
  access: accessTo("namespace"),
  uses: ["catalog", "config", "engine"],
  async handle(services, { id, params, payload }) {
    const { items, pageToken } = await services.catalog.listTables(
      id,
      { limit: DEFAULT_LIMIT, ...readPageRequest(params, payload) },
      { declared: false },
    );
    const views: string[] = [];
    for (const name of items) if (await isView(services, [...id, name])) views.push(name);
    return { kind: "json", value: { views, ...nextPageToken(pageToken) } };
  },
});

/** How many tables one request opens by default: only the files of a table show whether it is a view. */
const DEFAULT_LIMIT = 100;

async function isView(
  services: Pick<Services, "catalog" | "config" | "engine">,
  id: readonly string[],
): Promise<boolean> {
  try {
    await onTable(services, id, ({ table }) => table.view());
    return true;
  } catch (error) {
    // A table that is not a view, or that was dropped after the listing.
    const skipped = [ErrorCode.InvalidTableState, ErrorCode.TableNotFound];
    if (skipped.some((code) => hasCode(error, code))) return false;
    throw error;
  }
}
