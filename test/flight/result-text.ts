/** Values of Arrow results as text, and the type letters of their columns. */
import { DataType, Precision, type Table, TimeUnit } from "apache-arrow";

/** The letter of a column type in sqllogictest: see `sql-cases.ts`. */
export function typeLetter(type: DataType): string {
  if (DataType.isDictionary(type)) return typeLetter(type.dictionary);
  if (DataType.isInt(type)) return "I";
  if (DataType.isFloat(type) || DataType.isDecimal(type)) return "R";
  if (DataType.isBool(type)) return "B";
  if (DataType.isDate(type)) return "D";
  if (DataType.isTimestamp(type) || DataType.isTime(type)) return "P";
  if (DataType.isUtf8(type) || DataType.isLargeUtf8(type)) return "T";
  return "?";
}

/** The rows of a result, each value as text. */
export function resultText(table: Table): string[][] {
  return Array.from({ length: table.numRows }, (_, row) =>
    table.schema.fields.map(({ type }, column) =>
      valueText(type, table.getChildAt(column)?.get(row)),
    ),
  );
}

/**
 * A value: `NULL`, `(empty)`, `true`, `12`, `1.50` (a decimal has all digits of its scale), `2.0` (a float has a dot or
 * an exponent), `2024-02-29`, `2024-02-29 01:02:03.5`, `01:02:03`, `[1, NULL]`, `{a: 1, b: x}`; binary in hexadecimal.
 */
export function valueText(type: DataType, value: unknown): string {
  if (value === null || value === undefined) return "NULL";
  if (DataType.isDictionary(type)) return valueText(type.dictionary, value);
  if (DataType.isFloat(type)) return floatText(value as number, type.precision);
  if (DataType.isDecimal(type)) return decimalText(value as Uint32Array, type.scale);
  if (DataType.isDate(type)) return new Date(Number(value)).toISOString().slice(0, 10);
  if (DataType.isTimestamp(type)) return timestampText(Number(value));
  if (DataType.isTime(type)) return timeText(BigInt(value as number | bigint), type.unit);
  if (DataType.isList(type) || DataType.isFixedSizeList(type)) {
    const item = (type.children[0] as { type: DataType }).type;
    return `[${Array.from(value as Iterable<unknown>, (each) => valueText(item, each)).join(", ")}]`;
  }
  if (DataType.isStruct(type)) {
    const row = value as Record<string, unknown>;
    const members = type.children.map(({ name, type }) => `${name}: ${valueText(type, row[name])}`);
    return `{${members.join(", ")}}`;
  }
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  return String(value) || "(empty)";
}

function floatText(value: number, precision: Precision): string {
  const shown = precision === Precision.SINGLE ? Number(value.toPrecision(7)) : value;
  return Number.isInteger(shown) && !String(shown).includes("e") ? `${shown}.0` : String(shown);
}

/** `words`: a signed integer of 128 or 256 bits, lowest word first. */
function decimalText(words: Uint32Array, scale: number): string {
  let unscaled = 0n;
  for (const word of [...words].reverse()) unscaled = (unscaled << 32n) | BigInt(word);
  unscaled = BigInt.asIntN(words.length * 32, unscaled);
  const sign = unscaled < 0n ? "-" : "";
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, "0");
  const end = digits.length - scale;
  return scale === 0 ? sign + digits : `${sign}${digits.slice(0, end)}.${digits.slice(end)}`;
}

/** `milliseconds` may have a fraction; it is exact to the microsecond. */
function timestampText(milliseconds: number): string {
  const micros = BigInt(Math.round(milliseconds * 1000));
  const second = micros / 1_000_000n - (micros % 1_000_000n < 0n ? 1n : 0n);
  const text = new Date(Number(second) * 1000).toISOString().slice(0, 19).replace("T", " ");
  return text + fraction(micros - second * 1_000_000n, 6);
}

function timeText(value: bigint, unit: TimeUnit): string {
  const digits = { [TimeUnit.SECOND]: 0, [TimeUnit.MILLISECOND]: 3, [TimeUnit.MICROSECOND]: 6 }[
    unit as number
  ];
  const scale = digits ?? 9;
  const second = value / 10n ** BigInt(scale);
  const text = new Date(Number(second) * 1000).toISOString().slice(11, 19);
  return text + fraction(value - second * 10n ** BigInt(scale), scale);
}

const fraction = (value: bigint, digits: number): string =>
  value === 0n ? "" : `.${String(value).padStart(digits, "0").replace(/0+$/, "")}`;
