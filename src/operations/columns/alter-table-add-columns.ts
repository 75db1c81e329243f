import { type Static, Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation, type Reply } from "../../api/operation.js";
import { branch, count, transactionId } from "../../api/schemas.js";
import type { Services } from "../../api/services.js";
import { type ArrowBody, type NewColumn, type Table, Upload } from "../../engine/index.js";
import { ErrorCode, invalidInput, JoustError } from "../../foundation/errors.js";
import { changingTable } from "../../tables/table-writes.js";
import { onBranch, versionHeader } from "../../tables/target.js";
import { planVirtualColumn, virtualColumn } from "./virtual-column.js";

const sql = (description: string) =>
  Type.Optional(Type.Union([Type.String({ minLength: 1, description }), Type.Null()]));

const refresh = {
  auto_refresh_enabled: Type.Optional(
    Type.Union([Type.Boolean(), Type.Null()], {
      description: "fill the computed column again when its inputs have changed; default: false",
    }),
  ),
  auto_refresh_interval_seconds: Type.Optional(
    Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
      description: "time between two refreshes; default: the server's --auto-refresh-interval",
    }),
  ),
};

const registered = {
  function: Type.Optional(Type.Unknown({ description: "not supported: code 0" })),
};

const newColumn = Type.Object({
  name: Type.String({ minLength: 1 }),
  expression: sql("SQL over the existing columns; evaluated once, for the existing rows"),
  computed: sql("SQL that declares the values of the column; they are null until a backfill"),
  virtual_column: Type.Optional(
    Type.Union([virtualColumn, Type.Null()], {
      description:
        "a function that computes the values of the column; they are null until a backfill",
    }),
  ),
  ...refresh,
  ...registered,
});

export const alterTableAddColumns = operation({
  id: "AlterTableAddColumns",
  methods: ["POST"],
  path: "/v1/table/{id}/add_columns",
  summary: "Add columns: computed with SQL, or declared and null until a backfill",
  tag: "Column",
  params: Type.Object({ branch }),
  body: {
    kind: "json",
    orArrow: true,
    schema: Type.Object({
      branch,
      new_columns: Type.Array(newColumn, { minItems: 1 }),
      ...refresh,
      ...registered,
    }),
  },
  reply: Type.Object({ version: count, transaction_id: transactionId }),
  access: accessTo("table", "create"),
  limited: ["query", "storage"],
  administrative: {
    to: "store a function (virtual_column) that the server or other tools run",
    includes: ({ payload }) =>
      "new_columns" in payload &&
      payload.new_columns.some((column) => column.virtual_column != null),
  },
  uses: ["catalog", "config", "engine", "maintenance"],
  handle(services, { id, params, payload }) {
    if (payload instanceof Upload || payload instanceof Uint8Array) {
      return addNullColumns(services, id, params.branch, payload);
    }
    for (const { function: udf } of [payload, ...payload.new_columns]) checkFunction(udf);
    for (const column of payload.new_columns) checkKind(column);
    return changingTable(services, id, undefined, async (open) => {
      const table = onBranch(open.table, payload.branch ?? params.branch);
      const columns: NewColumn[] = [];
      for (const column of payload.new_columns) {
        columns.push(...(await planColumn(table, column, payload)));
      }
      const version = await table.addColumns(columns);
      if (columns.some(refreshesItself)) {
        await services.maintenance.columnsDeclared(open.record.key);
      }
      return { kind: "json", value: { version }, headers: versionHeader(version) };
    });
  },
});

/** Adds the columns of an Arrow schema. The existing rows get null. */
function addNullColumns(
  services: Pick<Services, "catalog" | "config" | "engine" | "maintenance">,
  id: readonly string[],
  branch: string | undefined,
  schema: ArrowBody,
): Promise<Reply> {
  return changingTable(services, id, schema, async ({ table }) => {
    const version = await onBranch(table, branch).addNullColumns(schema);
    return { kind: "json", value: { version }, headers: versionHeader(version) };
  });
}

const refreshesItself = ({ metadata }: NewColumn): boolean =>
  metadata?.["computed_column.auto_refresh_enabled"] === "true" ||
  metadata?.["virtual_column.auto_backfill"] === "true";

type Column = Static<typeof newColumn>;

type Refresh = Pick<Column, "auto_refresh_enabled" | "auto_refresh_interval_seconds">;

/** @throws code 0 for a column that a registered function computes */
function checkFunction(udf: unknown): void {
  if (udf == null) return;
  throw new JoustError(
    ErrorCode.Unsupported,
    "this server has no registered functions: declare the column with computed or virtual_column",
  );
}

/** @throws code 13 unless a column has exactly one of the three members that define its values */
function checkKind({ name, expression, computed, virtual_column }: Column): void {
  const definitions = [expression, computed, virtual_column].filter((member) => member != null);
  if (definitions.length === 1) return;
  throw invalidInput(
    `column ${JSON.stringify(name.slice(0, 80))} needs exactly one of expression, computed, virtual_column`,
  );
}

/** `defaults`: the members of the request, which apply to columns without these members. */
async function planColumn(table: Table, column: Column, defaults: Refresh): Promise<NewColumn[]> {
  const { name, expression, computed, virtual_column } = column;
  if (virtual_column != null) return planVirtualColumn(table, name, virtual_column);
  if (expression != null) return [{ name, expression }];
  const keys = ["auto_refresh_enabled", "auto_refresh_interval_seconds"] as const;
  const members = keys.map(
    (key) => [`computed_column.${key}`, column[key] ?? defaults[key]] as const,
  );
  const set = members.filter(([, value]) => value != null);
  const metadata = Object.fromEntries(set.map(([key, value]) => [key, String(value)]));
  return [{ name, computed: computed as string, metadata }];
}
