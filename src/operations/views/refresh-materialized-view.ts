import { operation } from "../../api/operation.js";
import { refreshOperation, startRefresh } from "./view-refresh.js";

export const refreshMaterializedView = operation({
  ...refreshOperation,
  id: "RefreshMaterializedView",
  path: "/v1/materialized_view/{id}/refresh",
  summary:
    "Bring a view up to date in the background, in one version: computes the rows that come from changed rows, or all",
  uses: ["catalog", "config", "engine", "jobs", "maintenance"],
  handle: (services, { id, payload }) => startRefresh(services, id, payload),
});
