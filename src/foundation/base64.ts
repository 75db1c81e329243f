import { invalidInput } from "./errors.js";

/** Decodes base64, with or without the padding. @throws code 13 for other text; `member`: its name in the request */
export function fromBase64(member: string, encoded: string): Buffer {
  const bytes = Buffer.from(encoded, "base64");
  if (bytes.toString("base64").replace(/=+$/, "") === encoded.replace(/=+$/, "")) return bytes;
  throw invalidInput(`${member} must be base64`);
}
