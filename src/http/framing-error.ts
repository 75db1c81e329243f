import { randomUUID } from "node:crypto";
import { invalidInput } from "../foundation/errors.js";
import { problem } from "./problem.js";
import { writeHead } from "./reply.js";
import type { TransportResponse } from "./transport/transport.js";

/**
 * Size of uWebSockets.js' cork buffer, bytes. The library sends a reply that fits only after it has
 * parsed and routed all requests of the same read. It sends a longer reply at once. If that reply also
 * closes the connection, the parser stops.
 */
const corkBuffer = 16 * 1024;

/**
 * Replies 400 to a request with ambiguous framing and closes the connection. Blanks pad the reply beyond
 * the cork buffer, so that no later byte of the connection is parsed as a request.
 */
export function rejectFraming(
  res: TransportResponse,
  reason: string,
  path: string,
  standardHeaders: readonly string[],
): void {
  const failure = problem(invalidInput(reason), path);
  const writer = { res, requestId: randomUUID(), standardHeaders };
  writeHead(writer, failure.status, "application/json", undefined);
  res.end(JSON.stringify(failure).padEnd(corkBuffer + 1), true);
}
