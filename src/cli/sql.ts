import { readFileSync } from "node:fs";
import { ConfigError } from "../config/option.js";
import { takeFlag } from "./flag.js";
import { printAs, printTable } from "./sql-print.js";
import { localParts, type Parts, remoteParts, type SqlRequest } from "./sql-source.js";

/** The media type that each output is made of. */
const formats = {
  table: "text/csv",
  csv: "text/csv",
  json: "application/x-ndjson",
  arrow: "application/vnd.apache.arrow.stream",
} as const;
type Format = keyof typeof formats;

const isFormat = (text: string): text is Format => Object.hasOwn(formats, text);

/** Rows that a table shows unless `--rows` says otherwise. */
const ROWS = 40;

/**
 * `joust sql 'SELECT ...'`: runs a statement on a server (`--url`) or on a root that this process opens, and
 * prints its rows.
 */
export async function sql(args: readonly string[]): Promise<void> {
  const [query, ...others] = args;
  if (query === undefined || query.startsWith("--")) {
    throw new ConfigError("joust sql needs a statement first: joust sql 'SELECT ...'");
  }
  const { value: format = "table", rest: withoutFormat } = takeFlag(others, "--format");
  if (!isFormat(format)) {
    const known = Object.keys(formats).join(", ");
    throw new ConfigError(`--format must be one of ${known}, got "${format}"`);
  }
  const { value: shown, rest: withoutRows } = takeFlag(withoutFormat, "--rows");
  const { value: most, rest: withoutLimit } = takeFlag(withoutRows, "--limit");
  const { values, rest: withoutParameters } = takeFlags(withoutLimit, "--param");
  const { value: url, rest } = takeFlag(withoutParameters, "--url");

  const rows = count("--rows", shown) ?? ROWS;
  const limit = count("--limit", most);
  const request: SqlRequest = {
    body: bodyOf(query === "-" ? readFileSync(0, "utf8") : query, values, {
      // One more than is shown tells whether there are more.
      limit: format === "table" ? Math.min(limit ?? Number.POSITIVE_INFINITY, rows + 1) : limit,
    }),
    accept: formats[format],
  };
  const parts: Parts =
    url === undefined ? localParts(request, rest) : remoteParts(request, url, rest);
  if (format === "table") await printTable(parts, rows);
  else await printAs(format, parts);
}

/** The JSON of a request. Parameters are JSON already, so that integers stay exact; other text is a string. */
function bodyOf(
  query: string,
  parameters: readonly string[],
  { limit }: { limit: number | undefined },
): Buffer {
  const members = [`"query":${JSON.stringify(query)}`];
  if (parameters.length > 0) members.push(`"parameters":[${parameters.map(asJson).join(",")}]`);
  if (limit !== undefined && Number.isFinite(limit)) members.push(`"limit":${limit}`);
  return Buffer.from(`{${members.join(",")}}`);
}

function asJson(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch {
    return JSON.stringify(text);
  }
}

function takeFlags(
  args: readonly string[],
  flag: string,
): { values: readonly string[]; rest: readonly string[] } {
  const values: string[] = [];
  let { value, rest } = takeFlag(args, flag);
  while (value !== undefined) {
    values.push(value);
    ({ value, rest } = takeFlag(rest, flag));
  }
  return { values, rest };
}

function count(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new ConfigError(`${flag} must be a number of rows, got "${text}"`);
}
