import type { AuditedPart } from "./audit-log.js";

/** The longest object identifier in the audit log and in a span, characters. */
export const MAX_OBJECT = 1_024;

/** The operations that the statement of one request runs, for its line in the audit log. */
export class AuditedParts {
  #parts: AuditedPart[] | undefined;

  /** `id`: the identifier of the object. */
  add(operation: string, id: readonly string[]): void {
    this.#parts ??= [];
    this.#parts.push({ operation, object: id.join("$").slice(0, MAX_OBJECT) });
  }

  /** Undefined if there are none. */
  get all(): readonly AuditedPart[] | undefined {
    return this.#parts;
  }
}
