import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { nextPageToken, readPageRequest } from "../../api/paging.js";
import { nextPage, page } from "../../api/schemas.js";

export const listNamespaces = operation({
  id: "ListNamespaces",
  methods: ["GET", "POST"],
  path: "/v1/namespace/{id}/list",
  summary: "List the child namespaces of a namespace",
  tag: "Namespace",
  params: page,
  body: { kind: "json", schema: page },
  reply: Type.Object({ namespaces: Type.Array(Type.String()), page_token: nextPage }),
  access: accessTo("namespace"),
  uses: ["catalog"],
  async handle({ catalog }, { id, params, payload, fresh }) {
    const request = { ...readPageRequest(params, payload), ...fresh };
    const { items, pageToken } = await catalog.listNamespaces(id, request);
    return { kind: "json", value: { namespaces: items, ...nextPageToken(pageToken) } };
  },
});
