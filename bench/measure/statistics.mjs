/**
 * The smallest value that at least `share` of the values do not exceed; NaN of no values.
 *
 * @param {readonly number[]} sorted in ascending order
 * @param {number} share 0 to 1
 */
export function percentile(sorted, share) {
  const rank = Math.max(1, Math.ceil(share * sorted.length));
  return sorted[rank - 1] ?? Number.NaN;
}

/** The median; NaN of no values. @param {readonly number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  if (Number.isInteger(middle))
    return ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
  return sorted[Math.floor(middle)] ?? Number.NaN;
}

/** The median of the values that are present; undefined of none. @param {readonly (number | undefined)[]} values */
export function medianOf(values) {
  const present = values.filter((value) => value !== undefined);
  return present.length > 0 ? median(present) : undefined;
}

/**
 * The share of the expected rows that the answers contain.
 *
 * @param {readonly (readonly number[])[]} answered
 * @param {readonly (readonly number[])[]} expected
 */
export function recall(answered, expected) {
  let hits = 0;
  let wanted = 0;
  expected.forEach((ids, i) => {
    const actual = new Set(answered[i]);
    hits += ids.filter((id) => actual.has(id)).length;
    wanted += ids.length;
  });
  return wanted > 0 ? hits / wanted : 1;
}
