import { createHash } from "node:crypto";
import type { Exchange } from "./exchange.js";
import type { Route } from "./route.js";

/** Headers that are a part of what is asked for. */
const telling = ["x-lance-table-properties", "x-lance-table-location", "x-request-timeout-ms"];

/** Tells a request from every other one: what is asked for, of what, by whom, with which body. */
export function fingerprintOf(
  { operation, dialect }: Route,
  { path, headers }: Exchange,
  query: string,
  sender: string,
  body: Buffer,
): string {
  const values = [
    operation.id,
    dialect,
    path,
    query,
    sender,
    ...telling.map((n) => headers.get(n)),
  ];
  // As JSON, in which no value runs into the next.
  return createHash("sha256").update(JSON.stringify(values)).update(body).digest("hex");
}
