import { operation } from "../../api/operation.js";
import { refreshOperation, startRefresh } from "./view-refresh.js";

export const refreshTable = operation({
  ...refreshOperation,
  id: "RefreshTable",
  path: "/v1/table/{id}/refresh",
  summary: "Same as RefreshMaterializedView, under the path of tables",
  uses: ["catalog", "config", "engine", "jobs", "maintenance"],
  handle: (services, { id, payload }) => startRefresh(services, id, payload),
});
