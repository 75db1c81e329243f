import { Type } from "@sinclair/typebox";
import { accessTo } from "../../../api/access.js";
import { operation } from "../../../api/operation.js";
import { nothing, stringMap, transactionId } from "../../../api/schemas.js";
import type { Services } from "../../../api/services.js";
import { parseChoice } from "../../../api/validation/choice.js";
import { clientLocation } from "../../../catalog/tables/client-location.js";
import { ErrorCode, hasCode, invalidInput } from "../../../foundation/errors.js";
import { endTableWork } from "../../../tables/table-writes.js";
import { checkNotInTable } from "./empty-location.js";
import { locationSchema } from "./registration-entries.js";

export const registerTable = operation({
  id: "RegisterTable",
  methods: ["POST"],
  path: "/v1/table/{id}/register",
  summary: "Register a Lance table that exists in the root under a name",
  tag: "Table",
  params: nothing,
  body: {
    kind: "json",
    schema: Type.Object({
      location: locationSchema,
      mode: Type.Optional(
        Type.String({
          description:
            "effect on an existing table of that name: Create (default) fails, Overwrite deregisters it",
        }),
      ),
      properties: Type.Optional(stringMap),
    }),
  },
  reply: Type.Object({
    transaction_id: transactionId,
    location: Type.String(),
    properties: stringMap,
  }),
  access: accessTo("server", "manage"),
  limited: ["storage"],
  uses: ["catalog", "config", "engine", "jobs", "threads"],
  async handle(services, { id, callerId, payload }) {
    const mode = parseChoice("mode", payload.mode ?? "create", ["create", "overwrite"]);
    const location = clientLocation(services.config.root, payload.location);
    await checkNotInTable(services, location);
    if (!(await holdsTable(services, location))) {
      throw invalidInput(
        "that location has no Lance table: write one there first, or declare the table",
      );
    }
    const { table, replaced } = await services.catalog.registerTable(
      { id, location, properties: payload.properties ?? {}, creator: callerId },
      { replace: mode === "overwrite" },
    );
    if (replaced) await endTableWork(services, replaced);
    return { kind: "json", value: { location, properties: table.properties } };
  },
});

/** @throws the engine's code if the location holds something that is not readable */
async function holdsTable(
  { engine, config }: Pick<Services, "config" | "engine">,
  location: string,
): Promise<boolean> {
  try {
    await engine.table(location, config.storageOptions).describe();
    return true;
  } catch (error) {
    if (hasCode(error, ErrorCode.TableNotFound)) return false;
    throw error;
  }
}
