import { ErrorCode, invalidInput, JoustError } from "../../foundation/errors.js";
import type { TransactionAction, TransactionRecord, TransactionStatus } from "./transactions.js";

/** Bytes of a transaction's properties, as JSON. */
const MAX_PROPERTIES = 64 * 1024;

/** The record after all actions, in their order. @throws code 13 or 14 for the first that cannot be */
export function applyActions(
  record: TransactionRecord,
  actions: readonly TransactionAction[],
): TransactionRecord {
  // A map: keys like `__proto__` are keys like others.
  const properties = new Map(Object.entries(record.properties));
  let { status } = record;
  for (const action of actions) {
    switch (action.kind) {
      case "status":
        status = nextStatus(status, action.status);
        break;
      case "set":
        set(properties, action);
        break;
      case "unset":
        if (!properties.delete(action.key) && action.mode === "fail") {
          throw invalidInput(`property ${JSON.stringify(action.key)} is not set: mode Fail`);
        }
    }
  }
  const result = { id: record.id, status, properties: Object.fromEntries(properties) };
  if (Buffer.byteLength(JSON.stringify(result.properties)) > MAX_PROPERTIES) {
    throw invalidInput(`the properties of a transaction may take ${MAX_PROPERTIES} bytes at most`);
  }
  return result;
}

function set(
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

/** The server tells how its work ends; all that a client can do is cancel what has not ended. */
function nextStatus(now: TransactionStatus, wanted: TransactionStatus): TransactionStatus {
  if (wanted === now) return now;
  const ended = now !== "Queued" && now !== "Running";
  if (wanted === "Canceled" && !ended) return wanted;
  throw new JoustError(
    ErrorCode.ConcurrentModification,
    ended
      ? `the transaction has ended as ${now}: its status cannot become ${wanted}`
      : `the transaction is ${now}: a client can only set its status to Canceled`,
  );
}
