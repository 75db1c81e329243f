import { operation } from "../../api/operation.js";
import { refresh, shared } from "./view-refresh.js";

export const refreshMaterializedView = operation({
  ...shared,
  id: "RefreshMaterializedView",
  path: "/v1/materialized_view/{id}/refresh",
  summary: "Replace a view's rows by what its query gives now, in the background, in one version",
  uses: ["catalog", "config", "engine", "jobs"],
  handle: (services, { id, payload }) => refresh(services, id, payload),
});
