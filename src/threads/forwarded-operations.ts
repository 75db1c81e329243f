import type { Call, Operation, Reply } from "../api/operation.js";
import type { Services } from "../api/services.js";
import type { ThreadRpc } from "./thread-rpc.js";

/** The members of a call that a worker thread sends to the main thread. */
type ForwardedCall = Omit<
  Call<unknown, unknown>,
  "header" | "onAbort" | "authorize" | "timeLeftMs"
>;

/** The operations for a worker thread: those with `mainThreadOnly` run in the main thread. */
export const forwardToMainThread = (
  operations: readonly Operation[],
  mainThread: ThreadRpc,
): readonly Operation[] =>
  operations.map((operation) => {
    if (!operation.mainThreadOnly) return operation;
    const handle = (_: Services, call: Call<unknown, unknown>) => {
      const { dialect, requestId, callerId, id, database, path } = call;
      const { params, payload, context, fresh, attempt } = call;
      const named = { dialect, requestId, callerId, id, database, path };
      const forwarded = { ...named, params, payload, context, fresh, attempt };
      return mainThread.call("operations", "handle", [operation.id, forwarded]) as Promise<Reply>;
    };
    return { ...operation, handle };
  });

/** Runs forwarded operations in the main thread. */
export function mainThreadHandler(services: Services, operations: readonly Operation[]) {
  const byId = new Map(operations.map((operation) => [operation.id, operation]));
  return {
    async handle(id: string, forwarded: ForwardedCall): Promise<Reply> {
      const authorize = () => {
        throw new Error("the main thread does not know the caller");
      };
      const call = {
        ...forwarded,
        header: () => "",
        onAbort: () => {},
        timeLeftMs: undefined,
        authorize,
      };
      return (byId.get(id) as Operation).handle(services, call);
    },
  };
}
