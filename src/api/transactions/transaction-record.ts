import { mergeObjects } from "../../foundation/merge-objects.js";
import type { Call, Operation, Reply } from "../operation.js";
import type { Services } from "../services.js";

/**
 * An operation that leaves a record of what it changed, a transaction, where it changes anything.
 *
 * The reply names it as `transaction_id` and in the header `x-transaction-id`.
 *
 * The record is made once the work is done, so that an answer names a transaction that can be
 * described. A handler that starts a job answers the job's id, as `transaction_id` or `job_id`: the
 * record then follows the job. Requests that fail change nothing and leave no record.
 */
export function withTransactionRecord(operation: Operation): Operation {
  const { unrecorded } = operation;
  if (operation.permission === "read" || unrecorded === true) return operation;
  const member = operation.reply?.properties?.transaction_id;
  return {
    ...operation,
    async handle(services, call) {
      const reply = await operation.handle(services, call);
      if (typeof unrecorded === "function" && unrecorded(call, reply)) return reply;
      const id = await record(services, operation, call, reply);
      if (id === undefined || reply.kind !== "json") return reply;
      const headers = mergeObjects(reply.headers ?? {}, { "x-transaction-id": id });
      // Where the reply has no room for it, the header tells it.
      if (!member) return mergeObjects(reply, { headers });
      // The interface has a list of them where what is dropped may be many things.
      const transaction_id = member.type === "array" ? [id] : id;
      return mergeObjects(reply, {
        headers,
        value: mergeObjects(reply.value as object, { transaction_id }),
      });
    },
  };
}

/** Undefined when it could not be written: the change itself stands. */
async function record(
  { transactions, log }: Services,
  operation: Operation,
  call: Call<unknown, unknown>,
  reply: Reply,
): Promise<string | undefined> {
  const value = reply.kind === "json" ? (reply.value as Record<string, unknown>) : {};
  const { version, transaction_id, job_id } = value;
  const job = transaction_id ?? job_id;
  const properties = {
    operation: operation.id,
    object: call.id.join("$"),
    ...(typeof version === "number" && { version: String(version) }),
  };
  try {
    return await transactions.record({
      properties,
      job: typeof job === "string" ? job : undefined,
    });
  } catch (err) {
    log.warn({ err, operation: operation.id }, "a transaction could not be recorded");
    return undefined;
  }
}
