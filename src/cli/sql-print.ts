import { once } from "node:events";
import { csvRows } from "./csv.js";
import type { Parts } from "./sql-source.js";

/** The most characters of a single-line value in a table. */
const MAX_WIDTH = 100;

/** Streams the rows to stdout, at the speed of its reader. */
export async function printAs(
  format: "csv" | "json" | "arrow" | "parquet",
  parts: Parts,
): Promise<void> {
  const out = new Out();
  if (format === "json") await printJson(parts, out);
  else for await (const part of parts) await out.write(part);
}

/** A JSON array with one object per line. */
async function printJson(parts: Parts, out: Out): Promise<void> {
  let separator = "[\n";
  for await (const line of lines(parts)) {
    await out.write(`${separator}  ${line}`);
    separator = ",\n";
  }
  await out.write(separator === "[\n" ? "[]\n" : "\n]\n");
}

async function* lines(parts: Parts): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of parts) {
    text += decoder.decode(part, { stream: true });
    const whole = text.split("\n");
    text = whole.pop() as string;
    yield* whole;
  }
}

/** Prints the first rows as a table. */
export async function printTable(parts: Parts, rows: number): Promise<void> {
  const out = new Out();
  const chunks: Uint8Array[] = [];
  for await (const part of parts) chunks.push(part);
  const [header = [], ...values] = csvRows(Buffer.concat(chunks).toString());
  // A column without a name is `""`: the statement has no result.
  if (header.length === 1 && header[0] === null) return out.write("done\n");
  await out.write(`${tableText(header, values.slice(0, rows))}${countText(values.length, rows)}\n`);
}

function countText(total: number, rows: number): string {
  const shown = Math.min(total, rows);
  const counted = `${shown} ${shown === 1 ? "row" : "rows"}`;
  if (total <= rows) return `(${counted})`;
  return `(${counted} shown, there are more: use --rows, or --format csv, json, arrow or parquet)`;
}

/** Numbers are right-aligned, other values left-aligned. A value with several lines uses several lines. */
export function tableText(
  header: readonly (string | null)[],
  rows: readonly (readonly (string | null)[])[],
): string {
  const cells = [header, ...rows].map((row) => row.map(cellLines));
  const widths = header.map((_, column) =>
    Math.max(0, ...cells.flatMap((row) => (row[column] ?? []).map(widthOf))),
  );
  const isNumber = header.map(
    (_, column) =>
      rows.some((row) => row[column] !== null) &&
      rows.every((row) => row[column] === null || /^-?\d[\d.e+-]*$/.test(row[column] as string)),
  );
  const pad = (text: string, column: number): string => {
    const space = " ".repeat((widths[column] as number) - widthOf(text));
    return isNumber[column] ? space + text : text + space;
  };
  const shown = cells.flatMap((row) => {
    const height = Math.max(1, ...row.map((cell) => cell.length));
    return Array.from({ length: height }, (_, line) =>
      row
        .map((cell, column) => pad(cell[line] ?? "", column))
        .join("  ")
        .trimEnd(),
    );
  });
  const rule = widths.map((width) => "-".repeat(width)).join("  ");
  shown.splice(Math.max(1, ...(cells[0] ?? []).map((cell) => cell.length)), 0, rule);
  return shown.map((line) => `${line}\n`).join("");
}

function cellLines(value: string | null): string[] {
  if (value === null) return ["null"];
  // Control characters could change the state of the terminal.
  const plain = value
    .replace(/\n$/, "")
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression matches control characters
    .replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, "\ufffd");
  if (plain.includes("\n")) return plain.split("\n");
  const letters = [...plain];
  return [letters.length > MAX_WIDTH ? `${letters.slice(0, MAX_WIDTH - 1).join("")}…` : plain];
}

const widthOf = (text: string): number => [...text].length;

/** Standard output. If its reader exits early, as `head` does, the process ends without an error. */
class Out {
  constructor() {
    process.stdout.on("error", (error: NodeJS.ErrnoException) => {
      process.exit(error.code === "EPIPE" ? 0 : 1);
    });
  }

  async write(bytes: Uint8Array | string): Promise<void> {
    if (!process.stdout.write(bytes)) await once(process.stdout, "drain");
  }
}
