import type { Call, Operation } from "../api/operation.js";
import type { Identity } from "../auth/authenticator.js";
import { authorize } from "../auth/permission.js";
import type { RequestDependencies } from "./request-dependencies.js";
import { checkPartStorage } from "./request-limits.js";

/**
 * Checks an operation that is a part of a request: a change by a SQL statement. Resolves to whether it changes
 * something.
 *
 * @throws JoustError code 15, LimitExceeded
 */
export async function authorizePart(
  { services, limiter }: Pick<RequestDependencies, "services" | "limiter">,
  caller: Identity,
  operation: Operation,
  call: Call<unknown, unknown>,
): Promise<boolean> {
  await authorize(operation, caller, call, services);
  if (operation.permission === "read") return false;
  if (limiter) await checkPartStorage(limiter, operation, caller, call.id);
  return true;
}
