import { type Static, Type } from "@sinclair/typebox";
import type { VersionRange } from "../engine/index.js";
import { invalidInput } from "../errors.js";

/** Versions to delete. */
export const versionRanges = Type.Array(
  Type.Object({
    start_version: Type.Integer({ minimum: 0, description: "first version to delete" }),
    end_version: Type.Integer({ minimum: -1, description: "version to stop before; -1: none" }),
  }),
  { minItems: 1 },
);

/** @throws code 13 for a range that ends before it starts */
export const readRanges = (given: Static<typeof versionRanges>): VersionRange[] =>
  given.map(({ start_version: start, end_version: end }, at) => {
    if (end === -1) return { start };
    if (end >= start) return { start, end };
    throw invalidInput(
      `ranges.${at} ends before it starts: end_version must be -1 or at least start_version`,
    );
  });
