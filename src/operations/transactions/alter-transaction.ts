import { type Static, Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { nothing } from "../../api/schemas.js";
import {
  type TransactionAction,
  transactionStatuses,
} from "../../api/transactions/transactions.js";
import { parseChoice } from "../../api/validation/choice.js";
import { ErrorCode, invalidInput, JoustError } from "../../foundation/errors.js";
import { reply, shown, status, transactionId } from "./transaction-entry.js";

const key = Type.String({ minLength: 1, maxLength: 255 });

const mode = (description: string) =>
  Type.Optional(Type.Union([Type.String({ description }), Type.Null()]));

const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Optional(Type.Union([schema, Type.Null()]));

const action = Type.Object(
  {
    setStatusAction: orNull(Type.Object({ status })),
    setPropertyAction: orNull(
      Type.Object({
        key,
        value: Type.String(),
        mode: mode(
          "when the key is set: Overwrite (default), Fail, or Skip, which keeps the value",
        ),
      }),
    ),
    unsetPropertyAction: orNull(
      Type.Object({ key, mode: mode("when the key is not set: Skip (default) or Fail") }),
    ),
  },
  { description: "exactly one member" },
);

export const alterTransaction = operation({
  id: "AlterTransaction",
  methods: ["POST"],
  path: "/v1/transaction/{id}/alter",
  summary:
    "Set and unset a transaction's properties, or cancel it with its job: all actions or none",
  tag: "Transaction",
  params: nothing,
  body: { kind: "json", schema: Type.Object({ actions: Type.Array(action, { minItems: 1 }) }) },
  reply,
  permission: "admin",
  unrecorded: true,
  uses: ["jobs", "transactions"],
  async handle({ transactions, jobs }, { id, payload }) {
    const wanted = transactionId(id);
    const actions = payload.actions.map(readAction);
    const altered = await transactions.alter(wanted, actions);
    // Its row says so already; this stops the work.
    if (altered.status === "Canceled") await jobs.cancel(wanted).catch(ignoreUnknown);
    return shown(altered);
  },
});

function readAction(given: Static<typeof action>, at: number): TransactionAction {
  const { setStatusAction, setPropertyAction, unsetPropertyAction } = given;
  const members = [setStatusAction, setPropertyAction, unsetPropertyAction].filter(
    (member) => member !== undefined && member !== null,
  );
  if (members.length !== 1) {
    throw invalidInput(
      `actions.${at} must have exactly one of setStatusAction, setPropertyAction, unsetPropertyAction`,
    );
  }
  if (setStatusAction) {
    const wanted = setStatusAction.status;
    return { kind: "status", status: parseChoice("status", wanted, transactionStatuses) };
  }
  if (setPropertyAction) {
    const { key, value, mode } = setPropertyAction;
    const how = parseChoice("mode", mode ?? "overwrite", ["overwrite", "fail", "skip"]);
    return { kind: "set", key, value, mode: how };
  }
  const { key, mode } = unsetPropertyAction as { key: string; mode?: string | null };
  return { kind: "unset", key, mode: parseChoice("mode", mode ?? "skip", ["fail", "skip"]) };
}

/** Not every transaction has a job. */
function ignoreUnknown(error: unknown): void {
  if (!(error instanceof JoustError) || error.code !== ErrorCode.TransactionNotFound) throw error;
}
