import { v7 } from "uuid";

/**
 * Returns a UUID of version 7: its first 48 bits are the time of creation in ms. An index stores such ids in the
 * order of insertion, so that inserts write to few pages.
 *
 * The time is always that of the clock: without `msecs`, `uuid` stays ahead of a clock that was set back, and
 * `firstIdAt` would then miss ids.
 */
export const timedId = (): string => v7({ msecs: Date.now() });

/** A lower bound of all ids made at or after a time, in ms since the epoch: ids compare as text. */
export function firstIdAt(millis: number): string {
  const time = millis.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}`;
}

/** When an id was made, ms since the epoch. */
export const timeOf = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
