import { Type } from "@sinclair/typebox";
import { accessTo, type Requirement } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { delimiter, transactionId } from "../../api/schemas.js";
import { defaultDelimiter } from "../../api/validation/identifier.js";
import { namespaceObject, tableObject } from "../../catalog/grants/grants.js";
import { checkName } from "../../catalog/names.js";
import { encodePath } from "../../catalog/path.js";

export const renameTable = operation({
  id: "RenameTable",
  methods: ["POST"],
  path: "/v1/table/{id}/rename",
  summary: "Rename a table or move it to another namespace; its files do not move",
  tag: "Table",
  params: Type.Object({ delimiter }),
  body: {
    kind: "json",
    schema: Type.Object({
      id: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()])),
      new_table_name: Type.String({ minLength: 1 }),
      new_namespace_id: Type.Optional(
        Type.Array(Type.String(), {
          description: "new namespace; [] is the root; default: the current one",
        }),
      ),
    }),
  },
  reply: Type.Object({ transaction_id: transactionId }),
  access: {
    ...accessTo("table", "drop"),
    sometimes: ["create"],
    also: ({ id, payload }) => {
      const parent = id.slice(0, -1);
      const target = namespaceObject(targetNamespace(payload) ?? parent);
      const create: Requirement = { object: target, privileges: ["create"] };
      if (encodePath(targetNamespace(payload) ?? parent) === encodePath(parent)) return [create];
      // The table gets the inherited privileges of another namespace: also those of the caller.
      return [create, { object: tableObject(id), privileges: ["manage"] }];
    },
  },
  contentNames: {
    body: (payload, database) => {
      const namespace = targetNamespace(payload);
      return namespace ? { ...payload, new_namespace_id: [...database, ...namespace] } : payload;
    },
  },
  limited: ["storage"],
  storedTables: ({ id, payload }) => [{ id: targetTable(id, payload), from: id }],
  uses: ["catalog"],
  async handle({ catalog }, { id, params, payload }) {
    const target = targetTable(id, payload);
    const namespace = target.slice(0, -1);
    const separator = params.delimiter ?? defaultDelimiter;
    for (const [depth, name] of namespace.entries()) {
      checkName("namespace", name, { delimiter: separator, root: depth === 0 });
    }
    checkName("table", payload.new_table_name, {
      delimiter: separator,
      root: namespace.length === 0,
    });
    await catalog.renameTable(id, target);
    return { kind: "json", value: {} };
  },
});

/** The requested identifier. */
const targetTable = (
  id: readonly string[],
  payload: Parameters<typeof targetNamespace>[0] & { new_table_name: string },
): string[] => [...(targetNamespace(payload) ?? id.slice(0, -1)), payload.new_table_name];

/**
 * The requested namespace; undefined: the current one. The Java client sends every unset list as an empty one, also
 * `id`: in such a body an empty namespace is not the root.
 */
function targetNamespace(payload: { id?: string[] | null; new_namespace_id?: string[] }) {
  const unset = payload.id?.length === 0 && payload.new_namespace_id?.length === 0;
  return unset ? undefined : payload.new_namespace_id;
}
