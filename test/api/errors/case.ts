import type { Answer, Client, RequestOptions } from "../../harness/client.js";

/**
 * One failure of one operation. The request runs on the fixture (fixture.ts) and does not change it:
 * namespaces `ns` and `empty`, the table `ns$t` with an index, a tag and a branch, the declared
 * table `ns$d` and the view `ns$v`.
 */
export interface Case extends RequestOptions {
  /** The operation's id. */
  readonly operation: string;
  /** What is wrong with the request. */
  readonly why: string;
  readonly path: string;
  readonly status: number;
  readonly code: number;
  /** What the error message must contain: the name of the invalid part. */
  readonly detail: RegExp;
}

export const send = (client: Client, { path, ...options }: Case): Promise<Answer> =>
  client.request(path, options);

/** Builds a case: operation, cause, path, body, status and code, message. */
export const failure = (
  operation: string,
  why: string,
  path: string,
  body: object | Uint8Array | string | undefined,
  [status, code]: readonly [status: number, code: number],
  detail: RegExp,
): Case => ({
  operation,
  why,
  path,
  status,
  code,
  detail,
  ...(body !== undefined && { body }),
});

/** Status and code of each error of the interface. */
export const errors = {
  unsupported: [406, 0],
  noNamespace: [404, 1],
  namespaceExists: [409, 2],
  namespaceNotEmpty: [409, 3],
  noTable: [404, 4],
  tableExists: [409, 5],
  noIndex: [404, 6],
  indexExists: [409, 7],
  noTag: [404, 8],
  tagExists: [409, 9],
  noTransaction: [404, 10],
  noVersion: [404, 11],
  noColumn: [404, 12],
  invalid: [400, 13],
  conflict: [409, 14],
  denied: [403, 15],
  unknownCaller: [401, 16],
  unavailable: [503, 17],
  state: [409, 19],
  schema: [400, 20],
  noBranch: [404, 22],
  branchExists: [409, 23],
} as const;
