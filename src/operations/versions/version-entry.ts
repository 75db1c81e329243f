import { Type } from "@sinclair/typebox";
import { count, stringMap } from "../../api/schemas.js";
import type { TableVersion } from "../../engine/index.js";

/** A version in a reply. */
export const tableVersion = Type.Object({
  version: count,
  manifest_path: Type.String({ description: "path of the manifest in the table's store" }),
  manifest_size: count,
  e_tag: Type.Optional(Type.String()),
  timestamp_millis: Type.Integer({ description: "creation time, ms since the epoch" }),
  metadata: Type.Optional(stringMap),
});

export const versionEntry = (version: TableVersion) => ({
  version: version.version,
  manifest_path: version.manifestPath,
  manifest_size: version.manifestSize,
  ...(version.eTag !== undefined && { e_tag: version.eTag }),
  timestamp_millis: version.timestampMillis,
});
