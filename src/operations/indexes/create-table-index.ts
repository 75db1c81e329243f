import { operation } from "../../api/operation.js";
import { create, shared } from "./index-creation.js";

export const createTableIndex = operation({
  ...shared,
  id: "CreateTableIndex",
  path: "/v1/table/{id}/create_index",
  summary: "Build an index in the background; the index listing shows how far it is",
  uses: ["catalog", "config", "engine", "jobs"],
  handle: (services, { id, payload }) => create(services, id, payload, "any"),
});
