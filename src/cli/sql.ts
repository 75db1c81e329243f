import { readFileSync } from "node:fs";
import { ConfigError } from "../config/option.js";
import { printAs, printTable } from "./sql-print.js";
import { localParts, type Parts, remoteParts, type SqlRequest } from "./sql-source.js";
import { takeFlags } from "./take-flags.js";

/** The media type that the command requests for each output format. */
const formats = {
  table: "text/csv",
  csv: "text/csv",
  json: "application/x-ndjson",
  arrow: "application/vnd.apache.arrow.stream",
  parquet: "application/vnd.apache.parquet",
} as const;
type Format = keyof typeof formats;

const isFormat = (text: string): text is Format => Object.hasOwn(formats, text);

/** A terminal cannot show these formats. */
const binary: readonly Format[] = ["arrow", "parquet"];

/** Default of `--rows`: rows that a table shows. */
const ROWS = 40;

/**
 * `joust sql 'SELECT ...'`: runs a statement on a server (`--url`) or on a root that this process opens,
 * and prints the rows.
 */
export async function sql(args: readonly string[]): Promise<void> {
  const [query, ...others] = args;
  if (query === undefined || query.startsWith("--")) {
    throw new ConfigError(
      "joust sql needs a statement as its first argument: joust sql 'SELECT ...'",
    );
  }
  const { flags, lists, rest } = takeFlags(
    others,
    ["--format", "--rows", "--limit", "--url"],
    ["--param"],
  );
  const { "--format": format = "table", "--url": url } = flags;
  const parameters = lists["--param"] ?? [];
  if (!isFormat(format)) {
    const valid = Object.keys(formats).join(", ");
    throw new ConfigError(`--format must be one of ${valid}, got "${format}"`);
  }
  if (binary.includes(format) && process.stdout.isTTY) {
    throw new ConfigError(
      `--format ${format} writes binary data: redirect the output to a file or to another program`,
    );
  }
  const rows = count("--rows", flags["--rows"]) ?? ROWS;
  const limit = count("--limit", flags["--limit"]);
  const request: SqlRequest = {
    body: bodyOf(query === "-" ? readFileSync(0, "utf8") : query, parameters, {
      // One row more than the table shows: it indicates that there are more rows.
      limit: format === "table" ? Math.min(limit ?? Number.POSITIVE_INFINITY, rows + 1) : limit,
    }),
    accept: formats[format],
  };
  const parts: Parts =
    url === undefined ? localParts(request, rest) : remoteParts(request, url, rest);
  if (format === "table") await printTable(parts, rows);
  else await printAs(format, parts);
}

/** The JSON of a request. A parameter that is valid JSON is used unchanged, so that integers stay exact. Other text becomes a string. */
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

function count(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new ConfigError(`${flag} must be a number of rows, got "${text}"`);
}
