import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { nothing, stringMap, transactionId } from "../../api/schemas.js";
import { parseChoice } from "../../api/validation/choice.js";
import { removeDroppedTables } from "../../tables/table-removal.js";

const readMode = (mode = "create") =>
  parseChoice("mode", mode, ["create", "exist_ok", "overwrite"]);

export const createNamespace = operation({
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
            "effect on an existing namespace: Create (default) fails, ExistOk leaves it unchanged, Overwrite replaces it by an empty one",
        }),
      ),
      properties: Type.Optional(stringMap),
    }),
  },
  reply: Type.Object({ transaction_id: transactionId, properties: stringMap }),
  access: accessTo("new namespace", "create"),
  administrative: {
    to: "replace a namespace (mode Overwrite), which drops everything in it",
    includes: ({ payload }) => readMode(payload.mode) === "overwrite",
  },
  uses: ["catalog", "config", "engine", "jobs", "log", "threads"],
  async handle(services, { id, payload }) {
    const { namespace, emptied } = await services.catalog.createNamespace(
      id,
      readMode(payload.mode),
      payload.properties ?? {},
    );
    await removeDroppedTables(services, emptied);
    return { kind: "json", value: { properties: namespace.properties } };
  },
});
