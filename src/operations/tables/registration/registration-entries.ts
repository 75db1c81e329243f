import { type Static, Type } from "@sinclair/typebox";
import { stringMap, transactionId } from "../../../api/schemas.js";
import type { Services } from "../../../api/services.js";
import type { TableRecord } from "../../../catalog/catalog.js";
import { steersServer } from "../../../maintenance/settings.js";
import { storageOptions } from "../../../tables/open-table.js";
import { managedVersioning } from "../managed-versioning.js";
import { publicStorageOptions } from "../storage-options.js";

export const location = Type.String({
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
  location !== undefined || steersServer(properties);

export const declaredEntry = (services: Pick<Services, "config">, record: TableRecord) => {
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
