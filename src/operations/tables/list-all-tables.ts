import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { idBelow } from "../../api/database.js";
import { operation } from "../../api/operation.js";
import { nextPageToken, readPageRequest } from "../../api/paging.js";
import { allTablesPage, page } from "../../api/schemas.js";
import { listingOptions, listingReply } from "./table-listing.js";

export const listAllTables = operation({
  id: "ListAllTables",
  methods: ["GET", "POST"],
  path: "/v1/table",
  summary: "List the tables of all namespaces by their full identifiers",
  tag: "Table",
  params: Type.Composite([allTablesPage, listingOptions]),
  body: { kind: "json", schema: Type.Composite([page, listingOptions]) },
  reply: listingReply,
  access: accessTo("nothing"),
  uses: ["catalog"],
  async handle({ catalog }, { database, params, payload, fresh }) {
    const declared = payload.include_declared ?? params.include_declared ?? true;
    const { items, pageToken } = await catalog.listAllTables(
      { ...readPageRequest(params, payload), ...fresh },
      { declared },
    );
    const delimiter = params.delimiter ?? "$";
    return {
      kind: "json",
      value: {
        tables: items.map((id) => idBelow(database, id).join(delimiter)),
        ...nextPageToken(pageToken),
      },
    };
  },
});
