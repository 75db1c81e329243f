/**
 * The least value that `share` of all do not exceed; NaN of none.
 *
 * @param {readonly number[]} sorted least first
 * @param {number} share 0 to 1
 */
export function percentile(sorted, share) {
  const rank = Math.max(1, Math.ceil(share * sorted.length));
  return sorted[rank - 1] ?? Number.NaN;
}

/** The middle value, or the mean of the two in the middle; NaN of none. @param {readonly number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  if (Number.isInteger(middle))
    return ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
  return sorted[Math.floor(middle)] ?? Number.NaN;
}

/** Of the values that are there; undefined of none. @param {readonly (number | undefined)[]} values */
export function medianOf(values) {
  const present = values.filter((value) => value !== undefined);
  return present.length > 0 ? median(present) : undefined;
}

/**
 * The share of the right rows that were found, over all answers.
 *
 * @param {readonly (readonly number[])[]} found
 * @param {readonly (readonly number[])[]} right
 */
export function recall(found, right) {
  let hits = 0;
  let wanted = 0;
  right.forEach((ids, i) => {
    const got = new Set(found[i]);
    hits += ids.filter((id) => got.has(id)).length;
    wanted += ids.length;
  });
  return wanted > 0 ? hits / wanted : 1;
}
