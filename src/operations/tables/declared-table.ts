import { tableForAttempt } from "../../api/idempotency/attempt.js";
import type { Call } from "../../api/operation.js";
import type { Services } from "../../api/services.js";
import type { TableRecord } from "../../catalog/catalog.js";
import type { ArrowBody, Table } from "../../engine/index.js";
import { ErrorCode, hasCode, JoustError } from "../../foundation/errors.js";
import { isOnlyDeclared, onDeclared, tableHandle } from "../../tables/open-table.js";
import { changingTable } from "../../tables/table-writes.js";

/** The table of that name if it is only declared; undefined when it has a version or does not exist. */
export function findDeclared(
  services: Pick<Services, "catalog" | "config" | "engine">,
  id: readonly string[],
): Promise<TableRecord | undefined> | undefined {
  const record = services.catalog.tableSync(id);
  return record && !record.declared ? undefined : stillDeclared(services, id);
}

async function stillDeclared(
  services: Pick<Services, "catalog" | "config" | "engine">,
  id: readonly string[],
): Promise<TableRecord | undefined> {
  const record = await services.catalog.table(id).catch((error) => {
    if (hasCode(error, ErrorCode.TableNotFound)) return undefined;
    throw error;
  });
  if (!record?.declared) return undefined;
  const table = tableHandle(services, record);
  return (await isOnlyDeclared(services, { record, table })) ? record : undefined;
}

/** Writes a declared table's first version. @throws code 14 when somebody else does at the same time */
export function writeFirstVersion<T>(
  services: Pick<Services, "catalog" | "config" | "engine" | "maintenance">,
  call: Pick<Call<unknown, ArrowBody>, "id" | "payload" | "attempt">,
  write: (table: Table) => Promise<T>,
): Promise<T> {
  const { payload } = call;
  return changingTable(
    services,
    call.id,
    payload,
    async ({ record, table }) => {
      const { catalog } = services;
      // Two first versions at the same time would both be answered, and one of them be lost.
      if (!(await catalog.claimFirstVersion(record.key))) throw writtenMeanwhile();
      try {
        const written = await write(tableForAttempt(table, call));
        await catalog.confirmTable(record.key);
        return written;
      } catch (error) {
        await catalog.releaseFirstVersion(record.key);
        throw hasCode(error, ErrorCode.TableAlreadyExists) ? writtenMeanwhile() : error;
      }
    },
    onDeclared,
  );
}

const writtenMeanwhile = (): JoustError =>
  new JoustError(
    ErrorCode.ConcurrentModification,
    "another request writes the first version of this table: try again",
  );
