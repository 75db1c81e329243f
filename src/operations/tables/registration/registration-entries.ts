import { type Static, Type } from "@sinclair/typebox";
import { stringMap, transactionId } from "../../../api/schemas.js";
import type { Services } from "../../../api/services.js";
import type { TableRecord } from "../../../catalog/catalog.js";
import { hasServerProperties } from "../../../maintenance/settings.js";
import { storageOptions } from "../../../tables/open-table.js";
import { managedVersioning } from "../managed-versioning.js";
import { publicStorageOptions } from "../storage-options.js";

export const locationSchema = Type.String({
  minLength: 1,
  description: "below the server's root: relative to it, or complete as in replies",
});

export const declaration = Type.Object({
  location: Type.Optional(
    Type.String({ ...locationSchema, description: `${locationSchema.description}; must be empty` }),
  ),
  properties: Type.Optional(stringMap),
  vend_credentials: Type.Optional(
    Type.Boolean({
      description: "ignored: only DescribeTable gives credentials, and only to read",
    }),
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

/** Whether a declaration chooses the location of the files, or how the server maintains them. */
export const isAdministrative = ({ location, properties }: Static<typeof declaration>): boolean =>
  location !== undefined || hasServerProperties(properties);

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
