import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { nextPageToken, pageRequest } from "../../api/paging.js";
import { nextPage, nothing, page, stringMap, transactionId } from "../../api/schemas.js";
import { choice } from "../../api/validation/choice.js";
import { removeDroppedTables } from "../../tables/table-removal.js";

const creationMode = (mode = "create") => choice("mode", mode, ["create", "exist_ok", "overwrite"]);

const dropBehavior = (behavior = "restrict") =>
  choice("behavior", behavior, ["restrict", "cascade"]);

const createNamespace = operation({
  id: "CreateNamespace",
  methods: ["POST"],
  path: "/v1/namespace/{id}/create",
  summary: "Create a namespace",
  tag: "Namespace",
  params: nothing,
  body: {
    kind: "json",
    schema: Type.Object({
      mode: Type.Optional(
        Type.String({
          description:
            "what to do when it exists: Create (default) fails, ExistOk keeps it, Overwrite replaces it by an empty one",
        }),
      ),
      properties: Type.Optional(stringMap),
    }),
  },
  reply: Type.Object({ transaction_id: transactionId, properties: stringMap }),
  permission: "write",
  administrative: {
    to: "replace a namespace (mode Overwrite), which drops all that is inside",
    includes: ({ payload }) => creationMode(payload.mode) === "overwrite",
  },
  async handle(services, { id, payload }) {
    const { namespace, emptied } = await services.catalog.createNamespace(
      id,
      creationMode(payload.mode),
      payload.properties ?? {},
    );
    await removeDroppedTables(services, emptied);
    return { kind: "json", value: { properties: namespace.properties } };
  },
});

const listNamespaces = operation({
  id: "ListNamespaces",
  methods: ["GET", "POST"],
  path: "/v1/namespace/{id}/list",
  summary: "List the child namespaces of a namespace",
  tag: "Namespace",
  params: page,
  body: { kind: "json", schema: page },
  reply: Type.Object({ namespaces: Type.Array(Type.String()), page_token: nextPage }),
  permission: "read",
  async handle({ catalog }, { id, params, payload, fresh }) {
    const wanted = { ...pageRequest(params, payload), ...fresh };
    const { items, pageToken } = await catalog.listNamespaces(id, wanted);
    return { kind: "json", value: { namespaces: items, ...nextPageToken(pageToken) } };
  },
});

const describeNamespace = operation({
  id: "DescribeNamespace",
  methods: ["POST"],
  path: "/v1/namespace/{id}/describe",
  summary: "Describe a namespace",
  tag: "Namespace",
  params: nothing,
  body: { kind: "json", schema: nothing },
  reply: Type.Object({ properties: stringMap }),
  permission: "read",
  async handle({ catalog }, { id }) {
    const { properties } = await catalog.describeNamespace(id);
    return { kind: "json", value: { properties } };
  },
});

const namespaceExists = operation({
  id: "NamespaceExists",
  methods: ["POST"],
  path: "/v1/namespace/{id}/exists",
  summary: "Tell whether a namespace exists: 200 or 404",
  tag: "Namespace",
  params: nothing,
  body: { kind: "json", schema: nothing },
  permission: "read",
  async handle({ catalog }, { id }) {
    await catalog.describeNamespace(id);
    return { kind: "empty" };
  },
});

const dropNamespace = operation({
  id: "DropNamespace",
  methods: ["POST"],
  path: "/v1/namespace/{id}/drop",
  summary: "Drop a namespace",
  tag: "Namespace",
  params: nothing,
  body: {
    kind: "json",
    schema: Type.Object({
      mode: Type.Optional(
        Type.String({ description: "when it does not exist: Fail (default) or Skip" }),
      ),
      behavior: Type.Optional(
        Type.String({
          description:
            "when it is not empty: Restrict (default) fails, Cascade drops all that is inside",
        }),
      ),
    }),
  },
  reply: Type.Object({
    transaction_id: Type.Optional(Type.Array(Type.String())),
    properties: Type.Optional(stringMap),
  }),
  permission: "write",
  administrative: {
    to: "drop all that is inside (behavior Cascade)",
    includes: ({ payload }) => dropBehavior(payload.behavior) === "cascade",
  },
  async handle(services, { id, payload }) {
    const dropped = await services.catalog.dropNamespace(id, {
      missing: choice("mode", payload.mode ?? "fail", ["fail", "skip"]),
      behavior: dropBehavior(payload.behavior),
    });
    if (dropped === null) return { kind: "json", value: {} };
    await removeDroppedTables(services, dropped.emptied);
    return { kind: "json", value: { properties: dropped.namespace.properties } };
  },
});

export const namespaces = [
  createNamespace,
  listNamespaces,
  describeNamespace,
  namespaceExists,
  dropNamespace,
];
