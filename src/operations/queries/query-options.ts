import type { Call } from "../../api/operation.js";
import { timeoutOf } from "../../api/time-left.js";
import type { QueryOptions } from "../../engine/index.js";

export const FILE = "application/vnd.apache.arrow.file";

export const STREAM = "application/vnd.apache.arrow.stream";

/** The options of a query that are not in its body. The engine decodes the body. */
export function queryOptions(call: Call<unknown, Uint8Array>): QueryOptions {
  const accept = call.header("accept");
  return {
    id: [...call.id],
    format: accept.includes(STREAM) && !accept.includes(FILE) ? "stream" : "file",
    ...call.fresh,
    ...timeoutOf(call),
  };
}
