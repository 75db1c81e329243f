import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { branch, count, mapOf, nothing, stringMap, transactionId } from "../../api/schemas.js";
import type { FieldMetadataUpdate } from "../../engine/index.js";
import { changingTable } from "../../tables/table-writes.js";
import { onBranch, versionHeader } from "../../tables/target.js";
import { declaresFunction } from "./virtual-column.js";

export const updateFieldMetadata = operation({
  id: "UpdateFieldMetadata",
  methods: ["POST"],
  path: "/v1/table/{id}/update_field_metadata",
  summary: "Change the metadata of fields, all in one commit",
  tag: "Column",
  params: nothing,
  body: {
    kind: "json",
    schema: Type.Object({
      branch,
      updates: Type.Array(
        Type.Object({
          path: Type.String({ minLength: 1, description: "field path" }),
          metadata: mapOf(Type.Union([Type.String(), Type.Null()]), {
            description: "entries to set; null removes a key",
          }),
          replace: Type.Optional(
            Type.Union([Type.Boolean(), Type.Null()], {
              description: "remove all other keys; default: false",
            }),
          ),
        }),
        { minItems: 1 },
      ),
    }),
  },
  reply: Type.Object({
    version: count,
    fields: mapOf(stringMap, {
      description: "the metadata of each changed field, by its path",
    }),
    transaction_id: transactionId,
  }),
  access: accessTo("table", "update"),
  administrative: {
    to: "change a function (metadata `virtual_column.*`) that the server or other tools run",
    includes: ({ payload }) =>
      payload.updates.some(({ metadata }) => Object.keys(metadata).some(declaresFunction)),
  },
  uses: ["catalog", "config", "engine", "maintenance"],
  async handle(services, { id, payload }) {
    const updates = payload.updates.map(({ path, metadata, replace }): FieldMetadataUpdate => {
      const entries = Object.entries(metadata);
      return {
        path,
        set: Object.fromEntries(entries.filter(isSet)),
        unset: entries.filter((entry) => !isSet(entry)).map(([key]) => key),
        replace: replace ?? false,
      };
    });
    const { version, fields } = await changingTable(services, id, undefined, async (open) => {
      const changed = await onBranch(open.table, payload.branch).updateFieldMetadata(updates);
      if (updates.some(({ set }) => Object.keys(set).some(declaresRefresh))) {
        await services.maintenance.columnsDeclared(open.record.key);
      }
      return changed;
    });
    return { kind: "json", value: { version, fields }, headers: versionHeader(version) };
  },
});

const declaresRefresh = (key: string): boolean =>
  key.startsWith("computed_column.auto_refresh") || key === "virtual_column.auto_backfill";

const isSet = (entry: [string, string | null]): entry is [string, string] => entry[1] !== null;
