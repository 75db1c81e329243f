import { isUtf8 } from "node:buffer";
import { invalidInput } from "../../foundation/errors.js";

/**
 * Maximum nesting of arrays and objects in a JSON body. Recursive code (`JSON.stringify`, validators) overflows the
 * stack on deeper values. serde_json, with which the engine decodes query bodies, has the same limit.
 */
export const MAX_DEPTH = 127;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const ARRAY = 0x5b;
const ARRAY_END = 0x5d;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;

/**
 * Parses a JSON body; {} for an empty one.
 *
 * @throws code 13 unless it is a JSON object, within the nesting limit, whose strings are valid Unicode
 */
export function parseJson(body: Uint8Array): Record<string, unknown> {
  if (body.byteLength === 0) return {};
  if (!isUtf8(body)) throw invalidInput("the body is not UTF-8");
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (isTooDeep(bytes)) {
    throw invalidInput(
      `the body nests arrays or objects more than ${MAX_DEPTH} levels deep: use fewer levels`,
    );
  }
  const text = bytes.toString();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalidInput(`the body is not JSON: ${(error as Error).message}`);
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    const kind = value === null ? "null" : Array.isArray(value) ? "an array" : `a ${typeof value}`;
    throw invalidInput(`the body must be a JSON object, got ${kind}`);
  }
  if (/\\u[dD]/.test(text) && !isWellFormed(value)) {
    throw invalidInput(
      "the body has an unpaired surrogate, such as `\\ud800`: strings must be Unicode",
    );
  }
  return value as Record<string, unknown>;
}

/** Whether JSON text exceeds the nesting limit. The result is arbitrary for text that is not JSON. */
export function isTooDeep(json: Buffer): boolean {
  const { length } = json;
  if (length <= MAX_DEPTH) return false;
  // Counting brackets is much faster than the scan, and few bodies have more than the limit.
  if (count(json, ARRAY) + count(json, OBJECT) <= MAX_DEPTH) return false;
  let depth = 0;
  for (let at = 0; at < length; at++) {
    const byte = json[at] as number;
    if (byte === QUOTE) {
      at = endOfString(json, at + 1);
      if (at < 0) return false;
    } else if (byte === ARRAY || byte === OBJECT) {
      if (++depth > MAX_DEPTH) return true;
    } else if (byte === ARRAY_END || byte === OBJECT_END) depth--;
  }
  return false;
}

/** How often a byte occurs; stops counting above `MAX_DEPTH`. */
function count(json: Buffer, byte: number): number {
  let occurrences = 0;
  for (let at = json.indexOf(byte); at >= 0; at = json.indexOf(byte, at + 1)) {
    if (++occurrences > MAX_DEPTH) break;
  }
  return occurrences;
}

/** The position of a string's closing quote, or -1. `start`: the position after the opening quote. */
function endOfString(json: Buffer, start: number): number {
  for (let end = json.indexOf(QUOTE, start); end >= 0; end = json.indexOf(QUOTE, end + 1)) {
    let escapes = 0;
    while (end - escapes > start && json[end - escapes - 1] === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return -1;
}

/** Whether all strings of a decoded value are valid Unicode. Recursive: the caller has checked the depth. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (value === null || typeof value !== "object") return true;
  return Object.entries(value).every(
    ([name, member]) => name.isWellFormed() && isWellFormed(member),
  );
}
