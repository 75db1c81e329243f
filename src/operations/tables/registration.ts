import { type Static, Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { nothing, stringMap, transactionId } from "../../api/schemas.js";
import type { Services } from "../../api/services.js";
import { choice } from "../../api/validation/choice.js";
import type { TableRecord } from "../../catalog/catalog.js";
import { locationTaken } from "../../catalog/failures.js";
import { clientLocation, parentLocations } from "../../catalog/tables/client-location.js";
import { ErrorCode, hasCode, invalidInput } from "../../foundation/errors.js";
import { hasServerProperties } from "../../maintenance/settings.js";
import { storageOptions } from "../../tables/open-table.js";
import { releaseTable } from "../../tables/table-writes.js";
import { managedVersioning } from "./managed-versioning.js";
import { publicStorageOptions } from "./storage-options.js";

const location = Type.String({
  minLength: 1,
  description: "below the server's root: relative to it, or in full as replies show it",
});

export const declaration = Type.Object({
  location: Type.Optional(
    Type.String({ ...location, description: `${location.description}; nothing may be there` }),
  ),
  properties: Type.Optional(stringMap),
  vend_credentials: Type.Optional(
    Type.Boolean({ description: "taken and ignored: credentials never leave the server" }),
  ),
});

export const declared = Type.Object({
  transaction_id: transactionId,
  location: Type.String(),
  storage_options: Type.Optional(stringMap),
  properties: stringMap,
  managed_versioning: Type.Optional(Type.Boolean()),
});

export const deregistered = Type.Object({
  transaction_id: transactionId,
  id: Type.Array(Type.String()),
  location: Type.String(),
  properties: stringMap,
});

/** Whether a declaration says more than a name: where files are, or how the server treats them. */
export const isAdministrative = ({ location, properties }: Static<typeof declaration>): boolean =>
  location !== undefined || hasServerProperties(properties);

const declareTable = operation({
  id: "DeclareTable",
  methods: ["POST"],
  path: "/v1/table/{id}/declare",
  summary: "Reserve a name and a location for a table that is written later",
  tag: "Table",
  params: nothing,
  body: { kind: "json", schema: declaration },
  reply: declared,
  permission: "write",
  administrative: {
    to: "choose the location, or set properties that begin with `joust.`",
    includes: ({ payload }) => isAdministrative(payload),
  },
  async handle(services, { id, payload }) {
    const location = await emptyLocation(services, payload.location);
    const properties = payload.properties ?? {};
    const { declared } = await services.catalog.changeTables({
      declare: [{ id, location, properties }],
    });
    return { kind: "json", value: declaredEntry(services, declared[0] as TableRecord) };
  },
});

const deregisterTable = operation({
  id: "DeregisterTable",
  methods: ["POST"],
  path: "/v1/table/{id}/deregister",
  summary: "Take a table out of its namespace; its files stay where they are",
  tag: "Table",
  params: nothing,
  body: { kind: "json", schema: nothing },
  reply: deregistered,
  permission: "admin",
  async handle(services, { id }) {
    const { deregistered } = await services.catalog.changeTables({ deregister: [id] });
    const record = deregistered[0] as TableRecord;
    await releaseTable(services, record);
    return { kind: "json", value: deregisteredEntry(record) };
  },
});

const registerTable = operation({
  id: "RegisterTable",
  methods: ["POST"],
  path: "/v1/table/{id}/register",
  summary: "Give a Lance table that is in the root already a name",
  tag: "Table",
  params: nothing,
  body: {
    kind: "json",
    schema: Type.Object({
      location,
      mode: Type.Optional(
        Type.String({
          description:
            "when a table of that name exists: Create (default) fails, Overwrite deregisters that one",
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
  permission: "admin",
  async handle(services, { id, payload }) {
    const mode = choice("mode", payload.mode ?? "create", ["create", "overwrite"]);
    const location = clientLocation(services.config.root, payload.location);
    await checkNotInTable(services, location);
    if (!(await holdsTable(services, location))) {
      throw invalidInput(
        "there is no Lance table at that location: write one there first, or declare the table",
      );
    }
    const { table, replaced } = await services.catalog.registerTable(
      { id, location, properties: payload.properties ?? {} },
      { replace: mode === "overwrite" },
    );
    if (replaced) await releaseTable(services, replaced);
    return { kind: "json", value: { location, properties: table.properties } };
  },
});

/**
 * A location that a client chose for a new table: what is there would be the table's from then on.
 *
 * @throws code 5 where a table is there or around it, 13 where anything else is
 */
export async function emptyLocation(
  services: Services,
  given: string | undefined,
): Promise<string | undefined> {
  if (given === undefined) return undefined;
  const { config, engine } = services;
  const location = clientLocation(config.root, given);
  await checkNotInTable(services, location);
  const contents = await engine.contents(location, config.storageOptions);
  if (contents === "table") throw locationTaken();
  if (contents === "behindLink") {
    throw invalidInput("location lies behind a symbolic link: choose one in the root itself");
  }
  if (contents === "unreadable") {
    throw invalidInput("the server cannot read what is at that location: choose another");
  }
  if (contents !== "nothing") {
    throw invalidInput(
      "location holds files already: choose one that is empty, or where nothing is",
    );
  }
  return location;
}

/** The catalog knows of its own tables only. @throws code 5 for a location inside a table */
async function checkNotInTable({ config, engine }: Services, location: string): Promise<void> {
  for (const place of parentLocations(config.root, location)) {
    if ((await engine.contents(place, config.storageOptions)) === "table") throw locationTaken();
  }
}

export const declaredEntry = (services: Services, record: TableRecord) => {
  const options = publicStorageOptions(storageOptions(services, record));
  return {
    location: record.location,
    ...(options && { storage_options: options }),
    properties: record.properties,
    ...managedVersioning(record),
  };
};

export const deregisteredEntry = ({ id, location, properties }: TableRecord) => ({
  id,
  location,
  properties,
});

/** @throws the engine's code when there is something that cannot be read */
async function holdsTable({ engine, config }: Services, location: string): Promise<boolean> {
  try {
    await engine.table(location, config.storageOptions).describe();
    return true;
  } catch (error) {
    if (hasCode(error, ErrorCode.TableNotFound)) return false;
    throw error;
  }
}

export const registration = [registerTable, deregisterTable, declareTable];
