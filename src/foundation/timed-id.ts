import { randomUUID } from "node:crypto";

/**
 * An id that says when it was made: a UUID of version 7, the first 48 bits of which are a time in ms. Rows
 * of such ids lie in an index in the order in which they are written, not each on a page of its own.
 */
export const timedId = (): string => `${firstIdAt(Date.now())}-7${randomUUID().slice(15)}`;

/** What all ids of before a time, ms since the epoch, are less than. */
export function firstIdAt(millis: number): string {
  const time = millis.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}`;
}

/** When an id was made, ms since the epoch. */
export const timeOf = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
