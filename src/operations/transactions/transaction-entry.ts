import { Type } from "@sinclair/typebox";
import { idBelow } from "../../api/database.js";
import type { Reply } from "../../api/operation.js";
import { stringMap } from "../../api/schemas.js";
import { changedObject, objectProperties } from "../../api/transactions/changed-object.js";
import {
  type TransactionRecord,
  transactionStatuses,
} from "../../api/transactions/transactions.js";
import { ErrorCode, JoustError } from "../../foundation/errors.js";

export const statusSchema = Type.String({ description: transactionStatuses.join(", ") });

export const replySchema = Type.Object({ status: statusSchema, properties: stringMap });

/** @throws code 10 for an identifier that no transaction can have */
export function readTransactionId(id: readonly string[]): string {
  if (id.length === 1) return id[0] as string;
  throw new JoustError(
    ErrorCode.TransactionNotFound,
    "a transaction's identifier has one component: the transaction_id of a reply",
  );
}

export const transactionReply = ({ status, properties }: TransactionRecord): Reply => ({
  kind: "json",
  value: { status, properties },
});

/** See Operation.contentNames: the object that the transaction changed. */
export const transactionNames = {
  reply: (
    { properties, ...rest }: { properties: Record<string, string> },
    database: readonly string[],
  ) => {
    const object = objectProperties(idBelow(database, changedObject(properties)));
    const { object_path: _, ...others } = properties;
    return { ...rest, properties: { ...others, ...object } };
  },
};
