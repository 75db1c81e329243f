import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { nothing, stringMap } from "../../api/schemas.js";
import { parseChoice } from "../../api/validation/choice.js";
import { removeDroppedTables } from "../../tables/table-removal.js";

const readBehavior = (behavior = "restrict") =>
  parseChoice("behavior", behavior, ["restrict", "cascade"]);

const readMissing = (mode = "fail") => parseChoice("mode", mode, ["fail", "skip"]);

export const dropNamespace = operation({
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
        Type.String({
          description: "effect if the namespace does not exist: Fail (default) or Skip",
        }),
      ),
      behavior: Type.Optional(
        Type.String({
          description:
            "effect if the namespace is not empty: Restrict (default) fails, Cascade drops everything in it",
        }),
      ),
    }),
  },
  reply: Type.Object({
    transaction_id: Type.Optional(Type.Array(Type.String())),
    properties: Type.Optional(stringMap),
  }),
  access: {
    ...accessTo("namespace", "drop"),
    missingReply: ({ payload }) =>
      readMissing(payload.mode) === "skip" ? { kind: "json", value: {} } : undefined,
  },
  administrative: {
    to: "drop everything in a namespace (behavior Cascade)",
    includes: ({ payload }) => readBehavior(payload.behavior) === "cascade",
  },
  uses: ["catalog", "config", "engine", "jobs", "log", "threads"],
  async handle(services, { id, payload }) {
    const dropped = await services.catalog.dropNamespace(id, {
      missing: readMissing(payload.mode),
      behavior: readBehavior(payload.behavior),
    });
    if (dropped === null) return { kind: "json", value: {} };
    await removeDroppedTables(services, dropped.emptied);
    return { kind: "json", value: { properties: dropped.namespace.properties } };
  },
});
