import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { nextPageToken, readPageRequest } from "../../api/paging.js";
import { page } from "../../api/schemas.js";
import { listingOptions, listingReply } from "./table-listing.js";

export const listTables = operation({
  id: "ListTables",
  methods: ["GET", "POST"],
  path: "/v1/namespace/{id}/table/list",
  summary: "List the tables of a namespace",
  tag: "Table",
  params: Type.Composite([page, listingOptions]),
  body: { kind: "json", schema: Type.Composite([page, listingOptions]) },
  reply: listingReply,
  access: accessTo("namespace"),
  uses: ["catalog"],
  async handle({ catalog }, { id, params, payload, fresh }) {
    const declared = payload.include_declared ?? params.include_declared ?? true;
    const { items, pageToken } = await catalog.listTables(
      id,
      { ...readPageRequest(params, payload), ...fresh },
      { declared },
    );
    return { kind: "json", value: { tables: items, ...nextPageToken(pageToken) } };
  },
});
