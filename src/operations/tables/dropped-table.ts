import { Type } from "@sinclair/typebox";
import { stringMap, transactionId } from "../../api/schemas.js";

/** The reply to an operation that drops a table. */
export const droppedTable = Type.Object({
  transaction_id: transactionId,
  id: Type.Array(Type.String()),
  location: Type.String(),
  properties: stringMap,
});
