import { type Static, Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { branch, count, nothing, transactionId } from "../../api/schemas.js";
import type { ColumnAlteration, Table } from "../../engine/index.js";
import { ErrorCode, invalidInput, JoustError } from "../../foundation/errors.js";
import { changingTable } from "../../tables/table-writes.js";
import { onBranch, versionHeader } from "../../tables/target.js";
import { dataType } from "./python-function.js";
import { ofFormerFunction, virtualColumnChange, virtualColumnMetadata } from "./virtual-column.js";

const alteration = Type.Object({
  path: Type.String({ minLength: 1, description: "field path" }),
  rename: Type.Optional(Type.Union([Type.String({ minLength: 1 }), Type.Null()])),
  nullable: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
  data_type: Type.Optional(Type.Union([dataType, Type.Null()], { description: "new type" })),
  virtual_column: Type.Optional(
    Type.Union([virtualColumnChange, Type.Null()], {
      description: "changes of a virtual column's declaration; not together with other alterations",
    }),
  ),
});

type Alteration = Static<typeof alteration>;

export const alterTableAlterColumns = operation({
  id: "AlterTableAlterColumns",
  methods: ["POST"],
  path: "/v1/table/{id}/alter_columns",
  summary: "Rename columns, cast them, or change whether they are nullable",
  tag: "Column",
  params: nothing,
  body: {
    kind: "json",
    schema: Type.Object({ branch, alterations: Type.Array(alteration, { minItems: 1 }) }),
  },
  reply: Type.Object({ version: count, transaction_id: transactionId }),
  access: accessTo("table", "update"),
  administrative: {
    to: "change a function (virtual_column) that the server or other tools run",
    includes: ({ payload }) =>
      payload.alterations.some((alteration) => alteration.virtual_column != null),
  },
  uses: ["catalog", "config", "engine", "maintenance"],
  async handle(services, { id, payload }) {
    const { alterations } = payload;
    const redeclared = alterations.filter(({ virtual_column }) => virtual_column != null);
    const changed = alterations.filter(
      ({ rename, nullable, data_type }) => rename != null || nullable != null || data_type != null,
    );
    if (redeclared.length > 0 && changed.length > 0) {
      throw invalidInput(
        "virtual_column cannot change together with rename, nullable or data_type: send two requests",
      );
    }
    const version = await changingTable(services, id, undefined, async (open) => {
      const table = onBranch(open.table, payload.branch);
      if (redeclared.length === 0) return table.alterColumns(alterations.map(columnAlteration));
      const changedVersion = await redeclare(table, redeclared);
      await services.maintenance.columnsDeclared(open.record.key);
      return changedVersion;
    });
    return { kind: "json", value: { version }, headers: versionHeader(version) };
  },
});

const columnAlteration = ({ path, rename, nullable, data_type }: Alteration): ColumnAlteration => ({
  path,
  ...(rename != null && { rename }),
  ...(nullable != null && { nullable }),
  ...(data_type != null && { dataType: JSON.stringify(data_type) }),
});

/** Changes declarations, which are field metadata, in one commit. */
async function redeclare(table: Table, alterations: readonly Alteration[]): Promise<number> {
  const { schema } = await table.describe();
  const fields: Field[] = JSON.parse(schema).fields;
  const updates = [];
  for (const { path, virtual_column } of alterations) {
    const field = fields.find(({ name }) => name.toLowerCase() === path.toLowerCase());
    if (field === undefined) {
      throw new JoustError(ErrorCode.TableColumnNotFound, `column \`${path}\` does not exist`);
    }
    if (field.metadata?.virtual_column !== "true") {
      throw invalidInput(`\`${path}\` is not a virtual column`);
    }
    for (const input of virtual_column?.input_columns ?? []) {
      if (!fields.some(({ name }) => input.split(".")[0]?.toLowerCase() === name.toLowerCase())) {
        throw new JoustError(ErrorCode.TableColumnNotFound, `column \`${input}\` does not exist`);
      }
    }
    const declared = await virtualColumnMetadata(table, virtual_column ?? {});
    const set = { ...virtual_column?.field_metadata, ...declared };
    const unset = ofFormerFunction(virtual_column ?? {}).filter((key) => !(key in set));
    updates.push({ path, set, unset, replace: false });
  }
  return (await table.updateFieldMetadata(updates)).version;
}

interface Field {
  name: string;
  metadata?: Record<string, string>;
}
