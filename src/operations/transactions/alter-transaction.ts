import { type Static, Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { nothing } from "../../api/schemas.js";
import {
  type TransactionAction,
  transactionStatuses,
} from "../../api/transactions/transactions.js";
import { parseChoice } from "../../api/validation/choice.js";
import { ErrorCode, invalidInput, JoustError } from "../../foundation/errors.js";
import {
  readTransactionId,
  replySchema,
  statusSchema,
  transactionNames,
  transactionReply,
} from "./transaction-entry.js";

const key = Type.String({ minLength: 1, maxLength: 255 });

const mode = (description: string) =>
  Type.Optional(Type.Union([Type.String({ description }), Type.Null()]));

const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Optional(Type.Union([schema, Type.Null()]));

const action = Type.Object(
  {
    setStatusAction: orNull(Type.Object({ status: statusSchema })),
    setPropertyAction: orNull(
      Type.Object({
        key,
        value: Type.String(),
        mode: mode(
          "effect on an existing value: Overwrite (default), Fail, or Skip, which leaves it unchanged",
        ),
      }),
    ),
    unsetPropertyAction: orNull(
      Type.Object({ key, mode: mode("effect if the key is not set: Skip (default) or Fail") }),
    ),
  },
  { description: "has exactly one member" },
);

export const alterTransaction = operation({
  id: "AlterTransaction",
  methods: ["POST"],
  path: "/v1/transaction/{id}/alter",
  summary:
    "Set and unset a transaction's properties, or cancel it and its job: all actions or none",
  tag: "Transaction",
  params: nothing,
  body: { kind: "json", schema: Type.Object({ actions: Type.Array(action, { minItems: 1 }) }) },
  reply: replySchema,
  access: accessTo("transaction object", "manage"),
  unrecorded: true,
  contentNames: transactionNames,
  uses: ["jobs", "transactions"],
  async handle({ transactions, jobs }, { id, payload }) {
    const transaction = readTransactionId(id);
    const actions = payload.actions.map(readAction);
    const altered = await transactions.alter(transaction, actions);
    // The row of the job has the status already; this stops the work.
    if (altered.status === "Canceled") await jobs.cancel(transaction).catch(ignoreMissingJob);
    return transactionReply(altered);
  },
});

function readAction(entry: Static<typeof action>, at: number): TransactionAction {
  const { setStatusAction, setPropertyAction, unsetPropertyAction } = entry;
  const members = [setStatusAction, setPropertyAction, unsetPropertyAction].filter(
    (member) => member !== undefined && member !== null,
  );
  if (members.length !== 1) {
    throw invalidInput(
      `actions.${at} must have exactly one of setStatusAction, setPropertyAction, unsetPropertyAction`,
    );
  }
  if (setStatusAction) {
    const { status } = setStatusAction;
    return { kind: "status", status: parseChoice("status", status, transactionStatuses) };
  }
  if (setPropertyAction) {
    const { key, value, mode } = setPropertyAction;
    const setMode = parseChoice("mode", mode ?? "overwrite", ["overwrite", "fail", "skip"]);
    return { kind: "set", key, value, mode: setMode };
  }
  const { key, mode } = unsetPropertyAction as { key: string; mode?: string | null };
  return { kind: "unset", key, mode: parseChoice("mode", mode ?? "skip", ["fail", "skip"]) };
}

/** Not every transaction has a job. */
function ignoreMissingJob(error: unknown): void {
  if (!(error instanceof JoustError) || error.code !== ErrorCode.TransactionNotFound) throw error;
}
