import type { AuditedGrant, AuditedPart } from "./audit-log.js";

/** The longest object identifier in the audit log and in a span, characters. */
export const MAX_OBJECT = 1_024;

/** What a part grants or revokes. */
export interface PartGrant {
  /** The request of the operation. */
  readonly payload: unknown;
  readonly audited: Promise<AuditedGrant>;
}

/** The operations that the statement of one request runs, for its line in the audit log. */
export class AuditedParts {
  /** By operation, object and grant: a statement may check an operation before it runs it. */
  readonly #parts = new Map<string, Promise<AuditedPart>>();

  /** `id`: the identifier of the object. */
  add(operation: string, id: readonly string[], grant?: PartGrant): void {
    const object = id.length === 0 ? undefined : id.join("$").slice(0, MAX_OBJECT);
    const part = { operation, object };
    // If the catalog fails, the line has no grant.
    const granted = grant?.audited.then((grant) => ({ ...part, grant })).catch(() => part);
    const key = JSON.stringify([operation, id, grant?.payload]);
    this.#parts.set(key, granted ?? Promise.resolve(part));
  }

  /** Undefined if there are none. Never rejects. */
  get all(): Promise<readonly AuditedPart[]> | undefined {
    return this.#parts.size === 0 ? undefined : Promise.all(this.#parts.values());
  }
}
