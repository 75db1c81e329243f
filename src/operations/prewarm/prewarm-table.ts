import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { branch, count } from "../../api/schemas.js";
import { prewarmTable as prewarm } from "../../prewarm/prewarm-table.js";
import { versionHeader } from "../../tables/target.js";

/** An extension: the operations of the interface load one index or some columns, and do not report the end. */
export const prewarmTable = operation({
  id: "PrewarmTable",
  methods: ["POST"],
  path: "/v1/table/{id}/prewarm",
  summary:
    "Load a table's indexes and columns into memory, as far as they fit; the reply follows the end",
  tag: "Table",
  params: Type.Object({}),
  body: { kind: "json", schema: Type.Object({ branch }) },
  reply: Type.Object({
    version: count,
    indexes: Type.Array(Type.String(), { description: "names of the loaded indexes" }),
    columns: Type.Array(Type.String(), {
      description: "names of those that are in memory whole",
    }),
  }),
  access: accessTo("table", "select"),
  mainThreadOnly: true,
  uses: ["catalog", "config", "engine", "prewarming"],
  async handle(services, { id, payload }) {
    const { version, indexes, columns } = await prewarm(services, id, payload.branch);
    const value = { version, indexes, columns };
    return { kind: "json", value, headers: versionHeader(version) };
  },
});
