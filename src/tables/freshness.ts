import { invalidInput } from "../foundation/errors.js";
import type { Freshness } from "./target.js";

/** The prefix of the headers that `readFreshness` reads. */
export const freshnessPrefix = "x-lancedb-min-";
const minTimestampHeader = `${freshnessPrefix}timestamp`;
const minVersionHeaders = [`${freshnessPrefix}version`, `${freshnessPrefix}read-version`];

/**
 * How new the data of a reply must be. `header` returns "" for an absent header.
 * @throws code 13 for a malformed header
 */
export function readFreshness(header: (name: string) => string): Freshness {
  const minTimestampMillis = minTimestamp(header(minTimestampHeader));
  const versions = minVersionHeaders.map((name) => minVersion(name, header(name)));
  const newest = Math.max(...versions.map((version) => version ?? -1));
  return {
    ...(minTimestampMillis !== undefined && { minTimestampMillis }),
    ...(newest >= 0 && { minVersion: newest }),
  };
}

function minTimestamp(text: string): number | undefined {
  if (text === "") return undefined;
  const millis = Date.parse(text);
  if (Number.isNaN(millis)) {
    throw invalidInput(
      `\`${minTimestampHeader}\` must be a time as in RFC 3339, such as 2026-01-31T12:00:00Z`,
    );
  }
  return millis;
}

function minVersion(name: string, text: string): number | undefined {
  if (text === "") return undefined;
  const version = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(version)) {
    throw invalidInput(`\`${name}\` must be a version: an integer >= 0`);
  }
  return version;
}
