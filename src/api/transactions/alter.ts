import { ErrorCode, invalidInput, JoustError } from "../../foundation/errors.js";
import { serverProperties } from "./changed-object.js";
import type { TransactionAction, TransactionRecord, TransactionStatus } from "./transactions.js";

/** Maximum size of a transaction's properties as JSON, bytes. */
const MAX_PROPERTY_BYTES = 64 * 1024;

/** Applies the actions in their order. @throws code 13 or 14 for the first action that is not possible */
export function applyActions(
  record: TransactionRecord,
  actions: readonly TransactionAction[],
): TransactionRecord {
  // A map, because a key can be `__proto__`.
  const properties = new Map(Object.entries(record.properties));
  let { status } = record;
  for (const action of actions) {
    switch (action.kind) {
      case "status":
        status = nextStatus(status, action.status);
        break;
      case "set":
        checkIsOfClient(action.key);
        setProperty(properties, action);
        break;
      case "unset":
        checkIsOfClient(action.key);
        if (!properties.delete(action.key) && action.mode === "fail") {
          throw invalidInput(`property ${JSON.stringify(action.key)} is not set: mode Fail`);
        }
    }
  }
  const result = { id: record.id, status, properties: Object.fromEntries(properties) };
  if (Buffer.byteLength(JSON.stringify(result.properties)) > MAX_PROPERTY_BYTES) {
    throw invalidInput(
      `the properties of a transaction are limited to ${MAX_PROPERTY_BYTES} bytes`,
    );
  }
  return result;
}

/** @throws code 13 for a property that the server sets */
function checkIsOfClient(key: string): void {
  if (!serverProperties.has(key)) return;
  throw invalidInput(`property ${JSON.stringify(key)} is set by the server: use another key`);
}

function setProperty(
  properties: Map<string, string>,
  { key, value, mode }: Extract<TransactionAction, { kind: "set" }>,
): void {
  if (properties.has(key)) {
    if (mode === "skip") return;
    if (mode === "fail") {
      throw invalidInput(`property ${JSON.stringify(key)} is set already: mode Fail`);
    }
  }
  properties.set(key, value);
}

/** Only the server sets a final status. A client can cancel a transaction that has not ended. */
function nextStatus(current: TransactionStatus, requested: TransactionStatus): TransactionStatus {
  if (requested === current) return current;
  const ended = current !== "Queued" && current !== "Running";
  if (requested === "Canceled" && !ended) return requested;
  throw new JoustError(
    ErrorCode.ConcurrentModification,
    ended
      ? `the transaction has ended as ${current}: its status cannot become ${requested}`
      : `the transaction is ${current}: a client can only set its status to Canceled`,
  );
}
