/** A number with three significant digits and separators for thousands. @param {number | undefined} value */
export function figure(value) {
  if (value === undefined || !Number.isFinite(value)) return "–";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}

/** @param {number | undefined} bytes */
export function size(bytes) {
  if (bytes === undefined) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return `${figure(bytes / 1024 ** power)} ${units[power]}`;
}

/** @param {number} value */
export function count(value) {
  return value.toLocaleString("en-US");
}
