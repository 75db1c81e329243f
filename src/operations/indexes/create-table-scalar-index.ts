import { operation } from "../../api/operation.js";
import { create, shared } from "./index-creation.js";

export const createTableScalarIndex = operation({
  ...shared,
  id: "CreateTableScalarIndex",
  path: "/v1/table/{id}/create_scalar_index",
  summary: "As create_index, for all but vector indexes",
  uses: ["catalog", "config", "engine", "jobs"],
  handle: (services, { id, payload }) => create(services, id, payload, "scalar"),
});
