import { randomUUID } from "node:crypto";
import { invalidInput } from "../foundation/errors.js";
import { problem } from "./problem.js";
import { writeHead } from "./reply.js";
import type { TransportResponse } from "./transport/transport.js";

/**
 * Size of uWebSockets.js' cork buffer, bytes. An answer that fits is sent only after the library has
 * parsed and routed all requests of the same read. A longer answer is sent at once; if it also closes
 * the connection, the parser stops.
 */
const corkBuffer = 16 * 1024;

/**
 * Answers 400 to a request with ambiguous framing and closes the connection. The answer is padded with
 * blanks beyond the cork buffer, so that no later byte of the connection is parsed as a request.
 */
export function rejectFraming(res: TransportResponse, why: string, path: string): void {
  const failure = problem(invalidInput(why), path);
  writeHead({ res, requestId: randomUUID() }, failure.status, "application/json", undefined);
  res.end(JSON.stringify(failure).padEnd(corkBuffer + 1), true);
}
