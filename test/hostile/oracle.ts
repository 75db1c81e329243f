/** Which replies are failures of the server. */
import type { Reply } from "./connection.js";
import { KEPT } from "./reply-parser.js";
import type { HostileRequest } from "./requests.js";

/** A reply with 5xx, or none, that the server gives by design. */
interface Exception {
  readonly name: string;
  /** Why it is no failure. */
  readonly reason: string;
  readonly admits: (request: HostileRequest, reply: Reply) => boolean;
}

const isAlone = ({ connection }: HostileRequest): boolean => connection !== "shared";

export const exceptions: readonly Exception[] = [
  {
    name: "deadline of the request",
    reason: "the client names a deadline in x-request-timeout-ms, and gets 504 beyond it",
    admits: (request, { outcome, body }) =>
      outcome === 504 &&
      (request.deadline || isAlone(request)) &&
      /x-request-timeout-ms/.test(body),
  },
  {
    name: "busy planner",
    reason: "a bound on the threads that plan statements: the client may send the request again",
    admits: (_, { outcome, body }) => outcome === 503 && /all threads that plan/.test(body),
  },
  {
    name: "end of a long reply",
    reason:
      "--query-timeout, or a deadline, ends a query whose reply has begun: the connection shows it",
    admits: ({ place }, { outcome }) =>
      outcome === "partial" && /^(ExecuteSql|QueryTable)$/.test(place.operation.id),
  },
  {
    name: "HTTP version",
    reason: "505 is the reply to a version of HTTP that the server does not speak",
    admits: (request, { outcome }) => outcome === 505 && isAlone(request),
  },
  {
    name: "no reply",
    reason: "the client sent no complete request, or closed the connection",
    admits: (request, { outcome }) => outcome === "none" && isAlone(request),
  },
];

export type Verdict = "fine" | "failure" | { readonly exception: string };

/** `root`: the directory that the server serves. */
export function judge(request: HostileRequest, reply: Reply, root: string): Verdict {
  if (typeof reply.outcome === "number" && reply.outcome < 500) {
    return isWellFormed(request, reply, root) ? "fine" : "failure";
  }
  const exception = exceptions.find(({ admits }) => admits(request, reply));
  return exception === undefined ? "failure" : { exception: exception.name };
}

/**
 * Whether the body of a failure is a problem document of that status, and names no path of the server that the request
 * does not name, no source and no stack.
 */
function isWellFormed(request: HostileRequest, { outcome, body }: Reply, root: string): boolean {
  if (Number(outcome) < 400 || isAlone(request)) return true;
  // A range beyond the value: the header content-range says it.
  if (outcome === 416) return body === "";
  if (/\.rs:\d|\bat \w+ \(|node:internal/.test(body)) return false;
  if (body.includes(root) && !request.bytes.includes(root.slice(1))) return false;
  // The client keeps only the beginning of a long body.
  if (body.length >= KEPT) return true;
  try {
    const { status, code, detail } = JSON.parse(body);
    return status === outcome && typeof code === "number" && typeof detail === "string";
  } catch {
    return false;
  }
}

const FAULT = /panicked|unhandled|uncaught|"level":(50|60)\b/i;

/** Lines of a server's output that show a fault: a panic, an unhandled rejection, or a log line of an error. */
export const faultLines = (output: string): string[] =>
  output.split("\n").filter((line) => FAULT.test(line));
