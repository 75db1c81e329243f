import { randomUUID } from "node:crypto";
import type { Call } from "../../../api/operation.js";
import type { Services } from "../../../api/services.js";
import type { Catalog, TableRecord } from "../../../catalog/catalog.js";
import { vendCredentials } from "../../../engine/index.js";
import { ErrorCode, hasCode } from "../../../foundation/errors.js";
import { storageOptions } from "../../../tables/open-table.js";
import { queryTable } from "../../queries/query-table.js";

/** Storage options with which a client reads the files of a table. */
export type VendedOptions = Readonly<Record<string, string>>;

/**
 * Temporary credentials for the files of a table, as storage options. Undefined if the server gives none
 * (`--vend-role`), if no policy can name the location, or if the caller may not read all rows of the table: a file has
 * all of them. Likewise for a clone, if the caller may not read all rows of the tables whose files it reads.
 *
 * The audit log has the name of the session, which the log of the store names too. No client can choose it.
 *
 * @throws code 17 if STS gives none
 */
export async function vendedCredentials(
  services: Pick<Services, "catalog" | "config">,
  call: Call<unknown, unknown>,
  record: TableRecord,
): Promise<VendedOptions | undefined> {
  const { vending } = services.config;
  if (!vending || !record.location.startsWith("s3://")) return undefined;
  if (!(await mayReadAllRows(call, call.id))) return undefined;
  const locations = await readableLocations(services, call, record);
  if (!locations) return undefined;
  const { role, endpoint, lifetimeMs } = vending;
  const session = `joust-${randomUUID()}`;
  const vended = await vendCredentials(locations, {
    storageOptions: storageOptions(services, record),
    role,
    session,
    lifetimeMs,
    ...(endpoint !== undefined && { endpoint }),
  }).catch((error: unknown) => {
    // No policy can name the location: the client gets the table without credentials.
    if (hasCode(error, ErrorCode.InvalidInput)) return undefined;
    throw error;
  });
  if (vended) call.vends?.(session);
  return (
    vended && {
      aws_access_key_id: vended.accessKeyId,
      aws_secret_access_key: vended.secretAccessKey,
      aws_session_token: vended.sessionToken,
      // The name that clients of the Lance namespace interface read.
      expires_at_millis: String(vended.expiresAtMillis),
    }
  );
}

/**
 * The locations of a table and of the tables whose files it reads as a clone. Undefined if the caller may not read all
 * rows of each of them: credentials are for all files of a location.
 */
async function readableLocations(
  { catalog }: Pick<Services, "catalog">,
  call: Call<unknown, unknown>,
  { location }: TableRecord,
): Promise<string[] | undefined> {
  const locations = [location];
  let source = await catalog.cloneSource(location);
  while (source !== undefined) {
    const table = await visibleTable(catalog, source.location);
    if (!table || !(await mayReadAllRows(call, table.id))) return undefined;
    locations.push(source.location);
    source = await catalog.cloneSource(source.location);
  }
  return locations;
}

/** Undefined also for a table that is dropped, or that the caller does not see. */
async function visibleTable(
  catalog: Pick<Catalog, "tableAt">,
  location: string,
): Promise<TableRecord | undefined> {
  try {
    return await catalog.tableAt(location);
  } catch (error) {
    const { PermissionDenied, TableNotFound } = ErrorCode;
    if (hasCode(error, PermissionDenied) || hasCode(error, TableNotFound)) return undefined;
    throw error;
  }
}

async function mayReadAllRows(
  call: Call<unknown, unknown>,
  id: readonly string[],
): Promise<boolean> {
  try {
    const { services } = await call.authorize(queryTable, { ...call, id, payload: {} });
    const { catalog } = services;
    return (await catalog.table(id)).restriction === undefined;
  } catch (error) {
    if (hasCode(error, ErrorCode.PermissionDenied)) return false;
    throw error;
  }
}
