import { databaseServices } from "../api/database.js";
import type { Call, Operation } from "../api/operation.js";
import type { Services } from "../api/services.js";
import type { Identity } from "../auth/authenticator.js";
import { authorize } from "../auth/permission.js";
import type { Limiter } from "../limits/limiter.js";
import type { HttpRequest } from "./http-request.js";
import type { RequestDependencies } from "./request-dependencies.js";
import { checkPartStorage } from "./request-limits.js";

export interface PartDependencies extends Pick<RequestDependencies, "services"> {
  readonly limiter?: Limiter | undefined;
}

/**
 * Checks an operation that is a part of a request: a change by a SQL statement. Resolves to the services for its
 * handler.
 *
 * @throws JoustError code 15, LimitExceeded
 */
export async function authorizePart(
  { services, limiter }: PartDependencies,
  request: Pick<HttpRequest, "onRelease">,
  caller: Identity,
  operation: Operation,
  call: Call<unknown, unknown>,
): Promise<Services> {
  const existing = databaseServices(services, call.database);
  const visible = await authorize(operation, caller, call, existing);
  if (!limiter || operation.permission === "read") return visible;
  await checkPartStorage(limiter, operation, caller, call.id);
  if (operation.limited?.includes("storage")) {
    request.onRelease(() => limiter.owner.tableChanged(call.id));
  }
  return visible;
}
