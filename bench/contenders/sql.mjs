/** @import { Predicate } from "../types.js" */

/** joust refuses deeper expressions. */
const MOST_NESTED = 40;

/** A condition that no row fulfils and that computes so many digests, in terms that differ. @param {number} digests */
function noDigest(digests) {
  const terms = [];
  for (let left = digests; left > 0; left -= MOST_NESTED) {
    const depth = Math.min(left, MOST_NESTED);
    terms.push(`${"sha512(".repeat(depth)}text || '${left}'${")".repeat(depth)} IS NULL`);
  }
  return `(${terms.join(" OR ")})`;
}

/** @param {Predicate} predicate */
export function sql({ label, number, digests }) {
  const parts = [];
  if (label !== undefined) parts.push(`label = '${label.replaceAll("'", "''")}'`);
  if (number) parts.push(`number >= ${number[0]} AND number < ${number[1]}`);
  if (digests) parts.push(noDigest(digests));
  return parts.join(" AND ");
}
