import { accessTo } from "../../../api/access.js";
import { belowDatabase } from "../../../api/database.js";
import { operation } from "../../../api/operation.js";
import { nothing } from "../../../api/schemas.js";
import type { TableRecord } from "../../../catalog/catalog.js";
import { endTableWork } from "../../../tables/table-writes.js";
import { deregistered, deregisteredEntry } from "./registration-entries.js";

export const deregisterTable = operation({
  id: "DeregisterTable",
  methods: ["POST"],
  path: "/v1/table/{id}/deregister",
  summary: "Remove a table from its namespace; its files remain",
  tag: "Table",
  params: nothing,
  body: { kind: "json", schema: nothing },
  reply: deregistered,
  access: accessTo("table", "manage"),
  contentNames: { reply: belowDatabase },
  uses: ["catalog", "engine", "jobs", "threads"],
  async handle(services, { id }) {
    const { deregistered } = await services.catalog.changeTables({ deregister: [id] });
    const record = deregistered[0] as TableRecord;
    await endTableWork(services, record);
    return { kind: "json", value: deregisteredEntry(record) };
  },
});
