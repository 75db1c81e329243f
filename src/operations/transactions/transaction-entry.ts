import { Type } from "@sinclair/typebox";
import type { Reply } from "../../api/operation.js";
import { stringMap } from "../../api/schemas.js";
import {
  type TransactionRecord,
  transactionStatuses,
} from "../../api/transactions/transactions.js";
import { ErrorCode, JoustError } from "../../foundation/errors.js";

export const status = Type.String({ description: transactionStatuses.join(", ") });

export const reply = Type.Object({ status, properties: stringMap });

/** @throws code 10 for an identifier that no transaction has */
export function transactionId(id: readonly string[]): string {
  if (id.length === 1) return id[0] as string;
  throw new JoustError(
    ErrorCode.TransactionNotFound,
    "a transaction's identifier is the transaction_id of a reply",
  );
}

export const shown = ({ status, properties }: TransactionRecord): Reply => ({
  kind: "json",
  value: { status, properties },
});
