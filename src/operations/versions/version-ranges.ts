import { type Static, Type } from "@sinclair/typebox";
import type { VersionRange } from "../../engine/index.js";
import { invalidInput } from "../../foundation/errors.js";
import { END_OF_VERSIONS } from "../../tables/target.js";

/** Versions are integers of 64 bits. A range may end after the latest version. */
const version = (minimum: number, description: string) =>
  Type.Integer({ minimum, exclusiveMaximum: END_OF_VERSIONS, description });

/** Versions to delete. */
export const versionRanges = Type.Array(
  Type.Object({
    start_version: version(0, "first version to delete"),
    end_version: version(-1, "version to stop before; -1: no end"),
  }),
  { minItems: 1 },
);

/** @throws code 13 for a range that ends before it starts */
export const readRanges = (ranges: Static<typeof versionRanges>): VersionRange[] =>
  ranges.map(({ start_version: start, end_version: end }, at) => {
    if (end === -1) return { start };
    if (end >= start) return { start, end };
    throw invalidInput(
      `ranges.${at} ends before it starts: end_version must be -1 or at least start_version`,
    );
  });
