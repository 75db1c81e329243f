import { Type } from "@sinclair/typebox";
import { stringMap, transactionId } from "../../api/schemas.js";

/** What a dropped table was. */
export const droppedTable = Type.Object({
  transaction_id: transactionId,
  id: Type.Array(Type.String()),
  location: Type.String(),
  properties: stringMap,
});
