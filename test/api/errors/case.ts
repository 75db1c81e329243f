import type { Answer, Client, RequestOptions } from "../../harness/client.js";

/**
 * One failure of one operation. It is asked of the fixture (fixture.ts), which no failure changes:
 * namespaces `ns` and `empty`, the table `ns$t` with an index, a tag and a branch, `ns$d`, which
 * is only declared, and `ns$v`, a view.
 */
export interface Case extends RequestOptions {
  /** The operation's id. */
  readonly operation: string;
  /** What is wrong. */
  readonly why: string;
  readonly path: string;
  readonly status: number;
  readonly code: number;
  /** What the answer's sentence must hold: what was wrong, by name. */
  readonly detail: RegExp;
}

export const ask = (client: Client, { path, ...options }: Case): Promise<Answer> =>
  client.request(path, options);

/** A case by its place in a table: operation, what is wrong, path, body, status and code, sentence. */
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
