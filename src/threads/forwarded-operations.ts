import type { Call, Operation, Reply } from "../api/operation.js";
import type { Services } from "../api/services.js";
import type { ThreadRpc } from "./thread-rpc.js";

/** What the handler of an operation is told in another thread than the one that has the request. */
type ForwardedCall = Omit<Call<unknown, unknown>, "header" | "signal">;

/** The same operations in a thread beside the first: some of them are done there. */
export const forwardToMainThread = (
  operations: readonly Operation[],
  first: ThreadRpc,
): readonly Operation[] =>
  operations.map((operation) => {
    if (!operation.mainThreadOnly) return operation;
    const handle = (_: Services, call: Call<unknown, unknown>) => {
      const { dialect, requestId, id, path, params, payload, context, fresh, attempt } = call;
      const told = { dialect, requestId, id, path, params, payload, context, fresh, attempt };
      return first.call("operations", "handle", [operation.id, told]) as Promise<Reply>;
    };
    return { ...operation, handle };
  });

/** The first thread's end of it. */
export function mainThreadHandler(services: Services, operations: readonly Operation[]) {
  const byId = new Map(operations.map((operation) => [operation.id, operation]));
  return {
    async handle(id: string, told: ForwardedCall): Promise<Reply> {
      const call = { ...told, header: () => "", signal: new AbortController().signal };
      return (byId.get(id) as Operation).handle(services, call);
    },
  };
}
