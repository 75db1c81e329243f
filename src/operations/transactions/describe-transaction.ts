import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { nothing } from "../../api/schemas.js";
import {
  readTransactionId,
  replySchema,
  transactionNames,
  transactionReply,
} from "./transaction-entry.js";

export const describeTransaction = operation({
  id: "DescribeTransaction",
  methods: ["POST"],
  path: "/v1/transaction/{id}/describe",
  summary: "Describe a transaction: the status and the properties of the work of a request",
  tag: "Transaction",
  params: nothing,
  body: { kind: "json", schema: nothing },
  reply: replySchema,
  access: accessTo("transaction object"),
  contentNames: transactionNames,
  uses: ["transactions"],
  async handle({ transactions }, { id }) {
    return transactionReply(await transactions.describe(readTransactionId(id)));
  },
});
