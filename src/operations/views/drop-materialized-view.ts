import { accessTo } from "../../api/access.js";
import { belowDatabase } from "../../api/database.js";
import { operation } from "../../api/operation.js";
import { nothing } from "../../api/schemas.js";
import { onTable } from "../../tables/open-table.js";
import { removeTable } from "../../tables/table-removal.js";
import { droppedReply, droppedTable } from "../tables/dropped-table.js";

export const dropMaterializedView = operation({
  id: "DropMaterializedView",
  methods: ["POST"],
  path: "/v1/materialized_view/{id}/drop",
  summary: "Drop a view and remove its files; the tables that it reads remain",
  tag: "View",
  params: nothing,
  body: { kind: "json", schema: nothing },
  reply: droppedTable,
  access: accessTo("table", "drop"),
  contentNames: { reply: belowDatabase },
  uses: ["catalog", "config", "engine", "jobs", "log", "threads"],
  async handle(services, { id }) {
    const key = await onTable(services, id, async ({ record, table }) => {
      await table.view();
      return record.key;
    });
    return droppedReply(await removeTable(services, id, key));
  },
});
