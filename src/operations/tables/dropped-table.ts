import { Type } from "@sinclair/typebox";
import type { Reply } from "../../api/operation.js";
import { stringMap, transactionId } from "../../api/schemas.js";
import type { TableRecord } from "../../catalog/catalog.js";

/** The reply to an operation that drops a table. */
export const droppedTable = Type.Object({
  transaction_id: transactionId,
  id: Type.Array(Type.String()),
  location: Type.String(),
  properties: stringMap,
});

export const droppedReply = ({ id, location, properties }: TableRecord): Reply => ({
  kind: "json",
  value: { id, location, properties },
});
