/** @import { Predicate } from "../types.js" */

/** @param {Predicate} predicate */
export function sql({ label, number }) {
  const parts = [];
  if (label !== undefined) parts.push(`label = '${label.replaceAll("'", "''")}'`);
  if (number) parts.push(`number >= ${number[0]} AND number < ${number[1]}`);
  return parts.join(" AND ");
}
