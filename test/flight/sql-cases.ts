/**
 * Reads sqllogictest files. A file has records; an empty line ends a record, `#` begins a comment.
 *
 * - `statement ok`, `statement count N` (the number of rows that it changes), `statement error REGEX`
 * - `query TYPES [nosort|rowsort|valuesort]`, the query, `----`, the expected rows
 *
 * TYPES has a letter for each column: T text, I integer, R decimal or floating point, B boolean, D date, P timestamp or
 * time, `?` list, struct or binary. A row is a line with a tab between its values; `result-text.ts` writes the values.
 * `rowsort` sorts the rows of the result, `valuesort` its values, of which each has a line; the expected lines are
 * sorted. The line `skipif joust` or `onlyif duckdb` before a record leaves the record out.
 */

/** How a query's result is sorted before it is compared. */
export type Sort = "nosort" | "rowsort" | "valuesort";

interface Place {
  /** The line of the record in its file. */
  readonly line: number;
  readonly sql: string;
}

export interface StatementCase extends Place {
  readonly kind: "statement";
  /** What the error's message has; undefined if the statement succeeds. */
  readonly error?: RegExp;
  /** The number of changed rows, where the record states it. */
  readonly count?: number;
}

export interface QueryCase extends Place {
  readonly kind: "query";
  readonly types: string;
  readonly sort: Sort;
  readonly lines: readonly string[];
}

export type SqlCase = StatementCase | QueryCase;

const SORTS = ["nosort", "rowsort", "valuesort"];

/** The records of a file for the database `database`. @throws Error for a malformed record */
export function sqlCases(text: string, database = "joust"): SqlCase[] {
  return blocks(text).flatMap((block) => {
    let [at, leaveOut] = [0, false];
    for (; /^(skipif|onlyif) /.test(block.lines[at] ?? ""); at++) {
      const [condition, name] = words(block.lines[at] as string);
      if ((condition === "skipif") === (name === database)) leaveOut = true;
    }
    const [head = "", ...body] = block.lines.slice(at);
    const record = { line: block.line + at, head, body };
    const parsed = /^query\b/.test(head) ? queryCase(record) : statementCase(record);
    return leaveOut ? [] : [parsed];
  });
}

interface Block {
  /** Of its first line, from 1. */
  readonly line: number;
  readonly lines: string[];
}

function blocks(text: string): Block[] {
  const found: Block[] = [];
  let open: Block | undefined;
  text.split("\n").forEach((line, at) => {
    if (line.trim() === "") {
      open = undefined;
      return;
    }
    if (line.startsWith("#")) return;
    if (open === undefined) {
      open = { line: at + 1, lines: [] };
      found.push(open);
    }
    open.lines.push(line);
  });
  return found;
}

interface Read {
  readonly line: number;
  readonly head: string;
  readonly body: readonly string[];
}

const words = (line: string): string[] => line.trim().split(/\s+/);

function statementCase({ line, head, body }: Read): StatementCase {
  const [, outcome, rest = ""] = /^statement (ok|count|error)(?: (.*))?$/.exec(head) ?? [];
  const sql = body.join("\n");
  if (sql === "") throw new Error(`line ${line}: the statement is missing`);
  const base = { kind: "statement", line, sql } as const;
  if (outcome === "ok" && rest === "") return base;
  if (outcome === "count" && /^\d+$/.test(rest)) return { ...base, count: Number(rest) };
  if (outcome === "error" && rest !== "") return { ...base, error: new RegExp(rest) };
  throw new Error(`line ${line}: "${head}" does not begin a record`);
}

function queryCase({ line, head, body }: Read): QueryCase {
  const [, types = "", sort = "nosort"] = words(head);
  const end = body.indexOf("----");
  if (!/^[TIRBDP?]+$/.test(types)) throw new Error(`line ${line}: "${types}" has no column types`);
  if (!SORTS.includes(sort)) throw new Error(`line ${line}: "${sort}" is no order`);
  if (end < 1) throw new Error(`line ${line}: the query ends without a line ----`);
  return {
    kind: "query",
    line,
    sql: body.slice(0, end).join("\n"),
    types,
    sort: sort as Sort,
    lines: body.slice(end + 1),
  };
}

/** The lines of a result, in the form of expected lines. */
export function sortedLines(rows: readonly (readonly string[])[], sort: Sort): string[] {
  if (sort === "valuesort") return rows.flat().sort();
  const lines = rows.map((row) => row.join("\t"));
  return sort === "rowsort" ? lines.sort() : lines;
}
