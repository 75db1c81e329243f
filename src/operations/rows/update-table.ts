import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { tableForAttempt } from "../../api/idempotency/attempt.js";
import { operation } from "../../api/operation.js";
import { branch, count, mapOf, nothing, stringMap, transactionId } from "../../api/schemas.js";
import { tableObject } from "../../catalog/grants/grants.js";
import { invalidInput } from "../../foundation/errors.js";
import { hasServerProperties } from "../../maintenance/settings.js";
import { changingTable } from "../../tables/table-writes.js";
import { onBranch, versionHeader } from "../../tables/target.js";

export const updateTable = operation({
  id: "UpdateTable",
  methods: ["POST"],
  path: "/v1/table/{id}/update",
  summary: "Set columns of the rows for which a predicate is true",
  tag: "Table",
  params: nothing,
  body: {
    kind: "json",
    schema: Type.Object({
      predicate: Type.Optional(
        Type.String({ description: "SQL over the table's columns; default: all rows" }),
      ),
      updates: Type.Array(Type.Array(Type.String(), { minItems: 2, maxItems: 2 }), {
        minItems: 1,
        description: "pairs of a field path and a SQL expression over the old row",
      }),
      branch,
      properties: Type.Optional(
        mapOf(Type.String(), {
          description: "properties of the table to set; others do not change",
        }),
      ),
    }),
  },
  reply: Type.Object({
    transaction_id: transactionId,
    updated_rows: count,
    version: count,
    properties: stringMap,
  }),
  access: {
    ...accessTo("table", "update"),
    rows: ["update"],
    // Properties belong to all rows.
    also: ({ id, payload }) =>
      payload.properties === undefined
        ? []
        : [{ object: tableObject(id), privileges: ["update"], allRows: true }],
  },
  administrative: {
    to: "set properties that start with `joust.`",
    includes: ({ payload }) => hasServerProperties(payload.properties),
  },
  limited: ["query"],
  repeatable: true,
  uses: ["catalog", "config", "engine", "maintenance"],
  async handle(services, call) {
    const { id, payload } = call;
    const { predicate, updates } = payload;
    if (predicate?.trim() === "") {
      throw invalidInput("predicate is blank: leave it out to update all rows");
    }
    if (new Set(updates.map(([path]) => path)).size < updates.length) {
      throw invalidInput("updates name a field twice: give each field one expression");
    }
    return changingTable(services, id, undefined, async ({ record, table }) => {
      const { version, numUpdatedRows } = await onBranch(
        tableForAttempt(table, call),
        payload.branch,
      ).update({
        updates,
        ...(predicate !== undefined && { predicate }),
      });
      const properties =
        payload.properties === undefined
          ? record.properties
          : await services.catalog.mergeTableProperties(record.key, payload.properties);
      return {
        kind: "json",
        value: { updated_rows: numUpdatedRows, version, properties },
        headers: versionHeader(version),
      };
    });
  },
});
