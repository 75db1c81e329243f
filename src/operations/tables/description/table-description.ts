import { pathToFileURL } from "node:url";
import type { Dialect, Reply } from "../../../api/operation.js";
import type { Services } from "../../../api/services.js";
import type { TableRecord } from "../../../catalog/catalog.js";
import { tableNotFound } from "../../../catalog/failures.js";
import type { TableDescription } from "../../../engine/index.js";
import { isRemote } from "../../../foundation/addresses.js";
import { ErrorCode, JoustError } from "../../../foundation/errors.js";
import { storageOptions } from "../../../tables/open-table.js";
import { versionHeader } from "../../../tables/target.js";
import { managedVersioning } from "../managed-versioning.js";
import { publicStorageOptions } from "../storage-options.js";
import type { VendedOptions } from "./vended-credentials.js";

/** The properties of a request that change the form of the reply. */
export interface Form {
  dialect: Dialect;
  uri: boolean;
  declared: boolean;
}

export const formNumber = (form: Form): number =>
  (form.dialect === "lancedb" ? 4 : 0) + (form.uri ? 2 : 0) + (form.declared ? 1 : 0);

export const descriptionReply = (
  services: Pick<Services, "config">,
  record: TableRecord,
  description: TableDescription,
  form: Form,
  vended?: VendedOptions,
): Reply => ({
  kind: "encoded",
  text: encode(services, record, description, form, vended),
  headers: versionHeader(description.version),
});

/** The engine returns the schema as JSON text, which the reply contains unchanged. */
function encode(
  services: Pick<Services, "config">,
  record: TableRecord,
  description: TableDescription,
  form: Form,
  vended: VendedOptions | undefined,
): string {
  const rest = {
    ...catalogMembers(services, record, form, vended),
    version: description.version,
    // They count hidden rows too.
    ...(!record.restriction && {
      stats: {
        num_deleted_rows: description.numDeletedRows,
        num_fragments: description.numFragments,
      },
    }),
    metadata: description.metadata,
    ...(form.declared && { is_only_declared: false }),
  };
  const schema = form.dialect === "lancedb" ? lanceSchema(description) : description.schema;
  return `{"schema":${schema},${JSON.stringify(rest).slice(1)}`;
}

/** A table without a version has no schema. @throws code 4 for LanceDB SDKs, which need one */
export function declaredReply(
  services: Pick<Services, "config">,
  record: TableRecord,
  form: Form,
): Reply {
  if (form.dialect === "lancedb") throw tableNotFound(record.id);
  return {
    kind: "json",
    value: { ...catalogMembers(services, record, form), is_only_declared: true },
  };
}

/** The members that the catalog knows. */
function catalogMembers(
  services: Pick<Services, "config">,
  record: TableRecord,
  form: Form,
  vended?: VendedOptions,
): object {
  const { id, location, properties } = record;
  const options = publicStorageOptions(storageOptions(services, record));
  return {
    table: id.at(-1),
    namespace: id.slice(0, -1),
    location,
    ...(form.uri && { table_uri: isRemote(location) ? location : pathToFileURL(location).href }),
    storage_options: vended ? { ...options, ...vended } : options,
    properties,
    ...managedVersioning(record),
  };
}

/** The schema with Lance's type names, which LanceDB SDKs need. @throws code 0 if a column's type has none */
function lanceSchema({ lanceSchema }: TableDescription): string {
  if (lanceSchema !== undefined) return lanceSchema;
  throw new JoustError(
    ErrorCode.Unsupported,
    "a column of this table has a type that LanceDB SDKs do not know: use a lance-namespace client",
  );
}
