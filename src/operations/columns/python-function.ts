/** Python functions in requests: joust's own form, and the payloads of LanceDB's clients. */
import { createHash } from "node:crypto";
import { type Static, Type } from "@sinclair/typebox";
import { invalidInput } from "../../foundation/errors.js";

/** A function as Python source. */
export const pythonSource = Type.Object({
  source: Type.String({ minLength: 1, description: "Python source" }),
  entry: Type.String({ minLength: 1, description: "the function or class in it" }),
  requirements: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      description: "packages that the server's Python must have, such as numpy>=1.26",
    }),
  ),
});

/** A data type: `{"type": "float32"}`, or the name alone. */
export const dataType = Type.Union([Type.Object({ type: Type.String() }), Type.String()]);

/** What the engine stores of a function in joust's own form. */
export function sourcePayload(python: Static<typeof pythonSource>): Buffer {
  const { source, entry, requirements = [] } = python;
  return Buffer.from(JSON.stringify({ source, entry, requirements }));
}

export const sha256 = (data: string | Uint8Array): string =>
  createHash("sha256").update(data).digest("hex");

/** @throws code 13 unless the checksum is that of the manifest */
export function checkManifest({
  manifest,
  manifest_checksum,
}: {
  manifest?: string | null;
  manifest_checksum?: string | null;
}): void {
  if (manifest_checksum == null) return;
  if (manifest == null) throw invalidInput("manifest_checksum needs a manifest");
  if (manifest_checksum.toLowerCase() !== sha256(manifest)) {
    throw invalidInput("manifest_checksum is not the SHA-256 of the manifest");
  }
}
