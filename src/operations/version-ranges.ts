import { type Static, Type } from "@sinclair/typebox";
import type { VersionRange } from "../engine/index.js";

/** Versions to delete. */
export const versionRanges = Type.Array(
  Type.Object({
    start_version: Type.Integer({ minimum: 0, description: "first version to delete" }),
    end_version: Type.Integer({ minimum: -1, description: "version to stop before; -1: none" }),
  }),
  { minItems: 1 },
);

export const readRanges = (given: Static<typeof versionRanges>): VersionRange[] =>
  given.map(({ start_version, end_version }) => ({
    start: start_version,
    ...(end_version !== -1 && { end: end_version }),
  }));
