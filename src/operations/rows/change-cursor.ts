import { invalidInput } from "../../foundation/errors.js";

/** How far a reader of a change feed is. */
export interface ChangeCursor {
  /** `TableRecord.key`: a table with the same name that is created later has another one. */
  readonly table: string;
  /** The last version that the reader knows. */
  readonly version: number;
  /** `TableBranch.identity`; "" for the main branch. */
  readonly branch: string;
}

export const encodeCursor = ({ table, version, branch }: ChangeCursor): string =>
  Buffer.from(JSON.stringify([table, version, branch])).toString("base64url");

/** @throws code 13 for text that no reply has returned */
export function decodeCursor(text: string): ChangeCursor {
  const parts = parsed(text);
  const [table, version, branch] = parts;
  if (
    parts.length !== 3 ||
    typeof table !== "string" ||
    typeof version !== "number" ||
    typeof branch !== "string" ||
    !Number.isSafeInteger(version) ||
    encodeCursor({ table, version, branch }) !== text
  ) {
    throw invalidInput("cursor is not valid: pass the header x-joust-cursor of a former reply");
  }
  return { table, version, branch };
}

function parsed(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, "base64url").toString());
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
