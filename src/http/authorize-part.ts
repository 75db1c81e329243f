import { databaseServices } from "../api/database.js";
import type { AuthorizedPart, Call, Operation } from "../api/operation.js";
import { type Identity, requireIdentity } from "../auth/authenticator.js";
import { authorize } from "../auth/permission.js";
import type { Limiter } from "../limits/limiter.js";
import type { HttpRequest } from "./http-request.js";
import { apiKeyIn } from "./key-in-body.js";
import { checkLasts } from "./request-deadline.js";
import type { RequestDependencies } from "./request-dependencies.js";
import { admitPart } from "./request-limits.js";

export interface PartDependencies extends Pick<RequestDependencies, "services"> {
  readonly limiter?: Limiter | undefined;
}

/**
 * Checks an operation that is a part of a request: a change by a SQL statement.
 *
 * @throws JoustError code 15, LimitExceeded
 */
export async function authorizePart(
  { services, limiter }: PartDependencies,
  caller: Identity,
  operation: Operation,
  call: Call<unknown, unknown>,
): Promise<AuthorizedPart> {
  const existing = databaseServices(services, call.database);
  const visible = await authorize(operation, caller, call, existing);
  if (!limiter?.limitsCallers || operation.permission === "read") return { services: visible };
  return { services: visible, admission: await admitPart(limiter, operation, caller, call) };
}

/** The operations that one request runs as parts of its own. */
export class RequestParts {
  #hasChanges = false;
  #caller: Identity | undefined;

  constructor(
    private readonly dependencies: Pick<
      RequestDependencies,
      "authenticator" | "limiter" | "services"
    >,
    private readonly request: HttpRequest,
    /** The operation of the request. */
    private readonly operation: Operation,
    /** The key may be in a JSON body. */
    private readonly body: Uint8Array | undefined,
  ) {}

  /** A part changes something, although the operation of the request may need only `read`. */
  get hasChanges(): boolean {
    return this.#hasChanges;
  }

  /** See Call.authorize. */
  readonly authorize = async (
    part: Operation,
    call: Call<unknown, unknown>,
  ): Promise<AuthorizedPart> => {
    const { dependencies, request } = this;
    if (part !== this.operation) request.record?.part(part, call);
    const authorized = await authorizePart(dependencies, await this.#identify(), part, call);
    if (part.permission === "read") return authorized;
    if (!this.#hasChanges) checkLasts(request);
    this.#hasChanges = true;
    return authorized;
  };

  /** The credential may have been revoked while the request waited. After its first change it must not stop half-way. */
  async #identify(): Promise<Identity> {
    if (this.#hasChanges && this.#caller) return this.#caller;
    const credential = this.request.headers.key || apiKeyIn(this.body ?? new Uint8Array());
    const { authenticator } = this.dependencies;
    this.#caller = requireIdentity(await authenticator.identify(credential));
    return this.#caller;
  }
}
