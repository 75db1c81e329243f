import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { branch, stringMap } from "../../api/schemas.js";
import { checkBodyId } from "../../api/validation/identifier.js";
import { parseJson } from "../../api/validation/json.js";
import { invalidInput } from "../../foundation/errors.js";
import { changingTable } from "../../tables/table-writes.js";
import { onBranch, versionHeader } from "../../tables/target.js";

export const updateTableSchemaMetadata = operation({
  id: "UpdateTableSchemaMetadata",
  methods: ["POST"],
  path: "/v1/table/{id}/schema_metadata/update",
  summary: "Replace the metadata of a table's schema",
  tag: "Column",
  params: Type.Object({ branch }),
  // The body is the metadata, so a key of it can be `identity`, `context` or `id`.
  body: { kind: "raw-json", schema: stringMap },
  reply: stringMap,
  access: accessTo("table", "update"),
  uses: ["catalog", "config", "engine", "maintenance"],
  async handle(services, { id, params, payload }) {
    const metadata = readMetadata(payload, id);
    const version = await changingTable(services, id, undefined, ({ table }) =>
      onBranch(table, params.branch).replaceSchemaMetadata(metadata),
    );
    return { kind: "json", value: metadata, headers: versionHeader(version) };
  },
});

/** Keys of the metadata that make a table a view. A refresh reads the tables that they name, without a check. */
const VIEW_PREFIX = "joust.view.";

/** A string is an entry of the metadata. Another value is a common member of bodies. */
function readMetadata(body: Uint8Array, id: readonly string[]): Record<string, string> {
  const metadata: [string, string][] = [];
  for (const [key, value] of Object.entries(parseJson(body))) {
    if (key.startsWith(VIEW_PREFIX)) {
      throw invalidInput(
        `metadata that starts with \`${VIEW_PREFIX}\` defines a view: create one with POST /v1/materialized_view/{id}/create`,
      );
    }
    if (typeof value === "string") metadata.push([key, value]);
    else if (key === "id") checkBodyId(value, id);
    else if (key !== "identity" && key !== "context") {
      throw invalidInput(`the value of \`${key.slice(0, 80)}\` must be a string`);
    }
  }
  return Object.fromEntries(metadata);
}
