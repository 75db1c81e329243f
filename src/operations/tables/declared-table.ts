import { tableForAttempt } from "../../api/idempotency/attempt.js";
import type { Call } from "../../api/operation.js";
import type { Services } from "../../api/services.js";
import type { TableRecord } from "../../catalog/catalog.js";
import type { ArrowBody, Table } from "../../engine/index.js";
import { ErrorCode, hasCode, JoustError } from "../../foundation/errors.js";
import { isOnlyDeclared, onDeclared, tableHandle } from "../../tables/open-table.js";
import { changingTable } from "../../tables/table-writes.js";

/** The table of that name if it is only declared; undefined if it has a version or does not exist. */
export function findDeclared(
  services: Pick<Services, "catalog" | "config" | "engine">,
  id: readonly string[],
): Promise<TableRecord | undefined> | undefined {
  const record = services.catalog.tableSync(id);
  return record && !record.declared ? undefined : readDeclared(services, id);
}

async function readDeclared(
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

/** Writes the first version of a declared table. @throws code 14 if another request does the same */
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
      // Of two concurrent first versions one would be lost although both requests succeed.
      if (!(await catalog.claimFirstVersion(record.key))) throw concurrentWrite();
      try {
        const written = await write(tableForAttempt(table, call));
        await catalog.confirmTable(record.key);
        return written;
      } catch (error) {
        await catalog.releaseFirstVersion(record.key);
        throw hasCode(error, ErrorCode.TableAlreadyExists) ? concurrentWrite() : error;
      }
    },
    onDeclared,
  );
}

const concurrentWrite = (): JoustError =>
  new JoustError(
    ErrorCode.ConcurrentModification,
    "another request is writing the first version of this table: try again",
  );
