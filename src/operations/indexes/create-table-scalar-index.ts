import { operation } from "../../api/operation.js";
import { enqueueIndexBuild, indexCreation } from "./enqueue-index-build.js";

export const createTableScalarIndex = operation({
  ...indexCreation,
  id: "CreateTableScalarIndex",
  path: "/v1/table/{id}/create_scalar_index",
  summary: "Same as create_index, except that it refuses vector indexes",
  uses: ["catalog", "config", "engine", "jobs"],
  handle: (services, { id, payload }) => enqueueIndexBuild(services, id, payload, "scalar"),
});
