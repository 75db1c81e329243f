import { createHash } from "node:crypto";
import { invalidInput } from "../../foundation/errors.js";

/** How far a reader of a change feed is. */
export interface ChangeCursor {
  /** `TableRecord.key`: a table with the same name that is created later has another one. */
  readonly table: string;
  /** The last version that the reader knows. */
  readonly version: number;
  /** `TableBranch.identity`; "" for the main branch. */
  readonly branch: string;
  /** A digest of the row filter of the caller; "" if it sees all rows. */
  readonly filter: string;
}

export const encodeCursor = ({ table, version, branch, filter }: ChangeCursor): string =>
  Buffer.from(JSON.stringify([table, version, branch, ...(filter ? [filter] : [])])).toString(
    "base64url",
  );

/** The digest of the conditions of a row filter, which are in any order. */
export function filterDigest(conditions: readonly string[] | undefined): string {
  if (conditions === undefined) return "";
  const text = JSON.stringify([...conditions].sort());
  return createHash("sha256").update(text).digest("base64url");
}

/** @throws code 13 for text that no reply has returned */
export function decodeCursor(text: string): ChangeCursor {
  const parts = parsed(text);
  const [table, version, branch, filter = ""] = parts;
  if (
    typeof filter !== "string" ||
    typeof table !== "string" ||
    typeof version !== "number" ||
    typeof branch !== "string" ||
    !Number.isSafeInteger(version) ||
    encodeCursor({ table, version, branch, filter }) !== text
  ) {
    throw invalidInput("cursor is not valid: pass the header x-joust-cursor of a former reply");
  }
  return { table, version, branch, filter };
}

function parsed(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, "base64url").toString());
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
