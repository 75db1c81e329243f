import { createHash } from "node:crypto";
import type { Dialect } from "../operation.js";

/** Headers that change what a request does. A repetition may have another deadline than the first request. */
const significantHeaders = ["x-lance-table-properties", "x-lance-table-location"];

/** The members of a request, beside its body, that make two requests the same one. */
export interface FingerprintInput {
  /** Id of the operation. */
  readonly operation: string;
  readonly dialect: Dialect;
  /** The namespace that the names in the request are relative to. */
  readonly database: readonly string[];
  readonly path: string;
  readonly query: string;
  readonly callerId: string;
  /** One request header, lower-case name; "" when absent. */
  header(name: string): string;
}

/** A digest that differs between two requests that differ. `bodyDigest`: SHA-256 of the body. */
export function requestFingerprint(
  { operation, dialect, database, path, query, callerId, header }: FingerprintInput,
  bodyDigest: Buffer,
): string {
  const values = [operation, dialect, path, query, callerId, ...significantHeaders.map(header)];
  // At the end and only if there is one, so that other requests keep the fingerprint that a catalog has stored.
  values.push(...database);
  // JSON separates the values from each other.
  return createHash("sha256").update(JSON.stringify(values)).update(bodyDigest).digest("hex");
}
