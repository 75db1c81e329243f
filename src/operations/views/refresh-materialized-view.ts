import { operation } from "../../api/operation.js";
import { refreshOperation, startRefresh } from "./view-refresh.js";

export const refreshMaterializedView = operation({
  ...refreshOperation,
  id: "RefreshMaterializedView",
  path: "/v1/materialized_view/{id}/refresh",
  summary:
    "Replace a view's rows by the current result of its query, in the background, in one version",
  uses: ["catalog", "config", "engine", "jobs", "maintenance"],
  handle: (services, { id, payload }) => startRefresh(services, id, payload),
});
