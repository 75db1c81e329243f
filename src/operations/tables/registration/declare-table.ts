import { accessTo } from "../../../api/access.js";
import { operation } from "../../../api/operation.js";
import { nothing } from "../../../api/schemas.js";
import type { TableRecord } from "../../../catalog/catalog.js";
import { checkEmptyLocation } from "./empty-location.js";
import { declaration, declared, declaredEntry, isAdministrative } from "./registration-entries.js";

export const declareTable = operation({
  id: "DeclareTable",
  methods: ["POST"],
  path: "/v1/table/{id}/declare",
  summary: "Reserve a name and a location for a table whose first version follows later",
  tag: "Table",
  params: nothing,
  body: { kind: "json", schema: declaration },
  reply: declared,
  access: accessTo("new table", "create"),
  administrative: {
    to: "choose the location, or set properties that start with `joust.`",
    on: ({ payload }) => (payload.location === undefined ? "object" : "server"),
    includes: ({ payload }) => isAdministrative(payload),
  },
  uses: ["catalog", "config", "engine"],
  async handle(services, { id, callerId, payload }) {
    const location = await checkEmptyLocation(services, payload.location);
    const properties = payload.properties ?? {};
    const { declared } = await services.catalog.changeTables({
      declare: [{ id, location, properties, creator: callerId }],
    });
    return { kind: "json", value: declaredEntry(services, declared[0] as TableRecord) };
  },
});
