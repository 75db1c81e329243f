import { operation } from "../../api/operation.js";
import { enqueueIndexBuild, indexCreation } from "./enqueue-index-build.js";

export const createTableIndex = operation({
  ...indexCreation,
  id: "CreateTableIndex",
  path: "/v1/table/{id}/create_index",
  summary: "Build an index in the background; the index listing reports the progress",
  uses: ["catalog", "config", "engine", "jobs"],
  handle: (services, { id, payload }) => enqueueIndexBuild(services, id, payload, "any"),
});
