/** Parses CSV of the engine: an empty field is null, and `""` is an empty text. */
export function csvRows(text: string): (string | null)[][] {
  const rows: (string | null)[][] = [];
  let row: (string | null)[] = [];
  for (let at = 0; at < text.length; ) {
    const [value, end] = text[at] === '"' ? quoted(text, at + 1) : bare(text, at);
    row.push(value);
    if (text[end] === ",") {
      at = end + 1;
      // A comma before the line end is followed by a null field.
      if (text[at] === "\r") row.push(null);
      else continue;
    }
    rows.push(row);
    row = [];
    at = text.indexOf("\n", end) + 1;
  }
  return rows;
}

/** The value at `start`, and the position after it. */
function bare(text: string, start: number): [string | null, number] {
  let end = start;
  while (text[end] !== "," && text[end] !== "\r") end++;
  return [end === start ? null : text.slice(start, end), end];
}

function quoted(text: string, start: number): [string, number] {
  let value = "";
  for (let at = start; ; ) {
    const end = text.indexOf('"', at);
    value += text.slice(at, end);
    if (text[end + 1] !== '"') return [value, end + 1];
    value += '"';
    at = end + 2;
  }
}
