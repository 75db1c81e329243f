import { operation } from "../../api/operation.js";
import { refresh, shared } from "./view-refresh.js";

/** The same under the path of tables. */
export const refreshTable = operation({
  ...shared,
  id: "RefreshTable",
  path: "/v1/table/{id}/refresh",
  summary: "As RefreshMaterializedView",
  uses: ["catalog", "config", "engine", "jobs"],
  handle: (services, { id, payload }) => refresh(services, id, payload),
});
