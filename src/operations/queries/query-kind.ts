/** A vector, or an object with vectors, that has at least one number. */
const FILLED_VECTOR = /^\s*:\s*(?:\[[\s[]*-?\d|\{[^}]*?\d)/;
/** A text, or an object with members. */
const FILLED_TEXT_QUERY = /^\s*:\s*(?:"|\{\s*")/;
/** How many bytes after the name of a member decide whether it is filled. */
const PREFIX_LENGTH = 256;

/**
 * What a query searches by, without decoding its body. In JSON text a quotation mark inside of a string has a
 * backslash in front of it, so a quoted name with a colon after it is the name of a member.
 */
export function queryKind(body: Uint8Array): "vector" | "text" | "hybrid" | "scan" {
  const text = hasMember(body, "full_text_query", FILLED_TEXT_QUERY);
  if (hasMember(body, "vector", FILLED_VECTOR)) return text ? "hybrid" : "vector";
  return text ? "text" : "scan";
}

function hasMember(body: Uint8Array, name: string, filled: RegExp): boolean {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const quoted = `"${name}"`;
  for (let at = bytes.indexOf(quoted); at >= 0; at = bytes.indexOf(quoted, at + 1)) {
    const after = at + quoted.length;
    if (filled.test(bytes.toString("latin1", after, after + PREFIX_LENGTH))) return true;
  }
  return false;
}
