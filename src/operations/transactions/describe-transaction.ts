import { operation } from "../../api/operation.js";
import { nothing } from "../../api/schemas.js";
import { reply, shown, transactionId } from "./transaction-entry.js";

export const describeTransaction = operation({
  id: "DescribeTransaction",
  methods: ["POST"],
  path: "/v1/transaction/{id}/describe",
  summary: "Describe a transaction: how the work that a request began stands, or ended",
  tag: "Transaction",
  params: nothing,
  body: { kind: "json", schema: nothing },
  reply,
  permission: "read",
  uses: ["transactions"],
  async handle({ transactions }, { id }) {
    return shown(await transactions.describe(transactionId(id)));
  },
});
