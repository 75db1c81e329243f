import { Type } from "@sinclair/typebox";
import { count, stringMap } from "../../api/schemas.js";
import type { TableVersion } from "../../engine/index.js";

/** A version as replies show it. */
export const tableVersion = Type.Object({
  version: count,
  manifest_path: Type.String({ description: "path of the manifest in the table's store" }),
  manifest_size: count,
  e_tag: Type.Optional(Type.String()),
  timestamp_millis: Type.Integer({ description: "when the version was made, since the epoch" }),
  metadata: Type.Optional(stringMap),
});

export const versionEntry = (found: TableVersion) => ({
  version: found.version,
  manifest_path: found.manifestPath,
  manifest_size: found.manifestSize,
  ...(found.eTag !== undefined && { e_tag: found.eTag }),
  timestamp_millis: found.timestampMillis,
});
