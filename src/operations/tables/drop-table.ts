import { accessTo } from "../../api/access.js";
import { belowDatabase } from "../../api/database.js";
import { operation } from "../../api/operation.js";
import { nothing } from "../../api/schemas.js";
import { removeTable } from "../../tables/table-removal.js";
import { droppedReply, droppedTable } from "./dropped-table.js";

export const dropTable = operation({
  id: "DropTable",
  methods: ["POST"],
  path: "/v1/table/{id}/drop",
  summary: "Drop a table and remove its files",
  tag: "Table",
  params: nothing,
  body: { kind: "json", schema: nothing },
  reply: droppedTable,
  access: accessTo("table", "drop"),
  contentNames: { reply: belowDatabase },
  uses: ["catalog", "config", "engine", "jobs", "log", "threads"],
  handle: async (services, { id }) => droppedReply(await removeTable(services, id)),
});
