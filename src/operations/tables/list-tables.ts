import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { nextPageToken, pageRequest } from "../../api/paging.js";
import { allTablesPage, nextPage, page } from "../../api/schemas.js";

const included = Type.Object({
  include_declared: Type.Optional(
    Type.Boolean({ description: "also tables that are only declared; default: true" }),
  ),
});
const reply = Type.Object({ tables: Type.Array(Type.String()), page_token: nextPage });

export const listTables = operation({
  id: "ListTables",
  methods: ["GET", "POST"],
  path: "/v1/namespace/{id}/table/list",
  summary: "List the tables of a namespace",
  tag: "Table",
  params: Type.Composite([page, included]),
  body: { kind: "json", schema: Type.Composite([page, included]) },
  reply,
  permission: "read",
  async handle({ catalog }, { id, params, payload, fresh }) {
    const declared = payload.include_declared ?? params.include_declared ?? true;
    const { items, pageToken } = await catalog.listTables(
      id,
      { ...pageRequest(params, payload), ...fresh },
      { declared },
    );
    return { kind: "json", value: { tables: items, ...nextPageToken(pageToken) } };
  },
});

export const listAllTables = operation({
  id: "ListAllTables",
  methods: ["GET", "POST"],
  path: "/v1/table",
  summary: "List the tables of all namespaces by their full identifiers",
  tag: "Table",
  params: Type.Composite([allTablesPage, included]),
  body: { kind: "json", schema: Type.Composite([page, included]) },
  reply,
  permission: "read",
  async handle({ catalog }, { params, payload, fresh }) {
    const declared = payload.include_declared ?? params.include_declared ?? true;
    const { items, pageToken } = await catalog.listAllTables(
      { ...pageRequest(params, payload), ...fresh },
      { declared },
    );
    const delimiter = params.delimiter ?? "$";
    return {
      kind: "json",
      value: { tables: items.map((id) => id.join(delimiter)), ...nextPageToken(pageToken) },
    };
  },
});
