import { mergeObjects } from "../../foundation/merge-objects.js";
import type { Call, Operation, Reply, ServiceName } from "../operation.js";
import type { Services } from "../services.js";
import { objectProperties } from "./changed-object.js";

const RECORDING = ["transactions", "log"] as const satisfies readonly ServiceName[];

/**
 * The same operation, which also leaves a transaction record of what it changed.
 *
 * The reply names the transaction as `transaction_id` and in the header `x-transaction-id`.
 *
 * The record follows the work, so a reply always names a transaction that can be described. A handler that
 * enqueues a job replies with the job's id as `transaction_id` or `job_id`: the record then has the status of
 * the job. A request that fails changes nothing and leaves no record.
 */
export function withTransactionRecord(operation: Operation): Operation {
  const { unrecorded } = operation;
  if (operation.permission === "read" || unrecorded === true) return operation;
  const member = operation.reply?.properties?.transaction_id;
  return {
    ...operation,
    uses: [...new Set([...operation.uses, ...RECORDING])],
    async handle(services, call) {
      const reply = await operation.handle(services, call);
      if (typeof unrecorded === "function" && unrecorded(call, reply)) return reply;
      const id = await record(services, operation, call, reply);
      if (id === undefined || reply.kind !== "json") return reply;
      const headers = mergeObjects(reply.headers ?? {}, { "x-transaction-id": id });
      // A reply whose schema has no such member names the transaction in the header only.
      if (!member) return mergeObjects(reply, { headers });
      // The namespace specification has a list where one request can drop many things.
      const transaction_id = member.type === "array" ? [id] : id;
      return mergeObjects(reply, {
        headers,
        value: mergeObjects(reply.value as object, { transaction_id }),
      });
    },
  };
}

/** The transaction's id; undefined if the catalog did not store the record. The change stays in effect. */
async function record(
  { transactions, log }: Pick<Services, (typeof RECORDING)[number]>,
  operation: Operation,
  call: Call<unknown, unknown>,
  reply: Reply,
): Promise<string | undefined> {
  const value = reply.kind === "json" ? (reply.value as Record<string, unknown>) : {};
  const { version, transaction_id, job_id } = value;
  const job = transaction_id ?? job_id;
  const properties = {
    operation: operation.id,
    ...objectProperties(call.id.length > 0 ? call.id : call.database),
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
