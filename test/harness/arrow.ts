import {
  Bool,
  type DataType,
  Field,
  FixedSizeList,
  Float32,
  Float64,
  Int32,
  Int64,
  List,
  RecordBatchStreamWriter,
  Schema,
  Table,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from "apache-arrow";

/** Short names for the types that tests use most. */
export const type = {
  bool: new Bool(),
  f32: new Float32(),
  f64: new Float64(),
  i32: new Int32(),
  i64: new Int64(),
  text: new Utf8(),
  texts: new List(new Field("item", new Utf8(), true)),
  vector: (dimension: number) =>
    new FixedSizeList(dimension, new Field("item", new Float32(), true)),
};

/** A column: its type and its values, null for a null. `i64` values are bigints. */
export type Column = readonly [DataType, readonly unknown[]];

export function schemaOf(types: Record<string, DataType>): Schema {
  return new Schema(Object.entries(types).map(([name, type]) => new Field(name, type, true)));
}

export function tableOf(columns: Record<string, Column>): Table {
  const types = Object.fromEntries(Object.entries(columns).map(([name, [type]]) => [name, type]));
  const vectors = Object.fromEntries(
    Object.entries(columns).map(([name, [type, values]]) => [name, vectorFromArray(values, type)]),
  );
  // Built with the explicit schema: inferred fields would be named and typed by the first values.
  return new Table(schemaOf(types), vectors);
}

/** An Arrow IPC stream, the body of create and insert. */
export function stream(columns: Record<string, Column> | Table): Uint8Array {
  return tableToIPC(columns instanceof Table ? columns : tableOf(columns), "stream");
}

/** A stream with a schema and without batches. */
export function emptyStream(types: Record<string, DataType>): Uint8Array {
  const writer = new RecordBatchStreamWriter();
  writer.reset(undefined, schemaOf(types));
  writer.finish();
  return writer.toUint8Array(true);
}

/** Numbers in [0, 1), the same for the same seed. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** `count` vectors around 16 centers, so that an index has a structure. */
export function vectors(count: number, dimension: number, seed = 1): number[][] {
  const next = random(seed);
  const centres = Array.from({ length: 16 }, () => Array.from({ length: dimension }, next));
  return Array.from({ length: count }, (_, row) =>
    (centres[row % 16] as number[]).map((value) => Math.fround(value + 0.1 * (next() - 0.5))),
  );
}

/**
 * The table most tests use: id (0..), name (`item <id>`), category (`c<id mod 5>`), price,
 * and a vector. Rows `from` to `from + count`.
 */
export function items(count: number, { from = 0, dimension = 8, seed = 1 } = {}): Uint8Array {
  const ids = Array.from({ length: count }, (_, row) => from + row);
  return stream({
    id: [type.i64, ids.map(BigInt)],
    name: [type.text, ids.map((id) => `item ${id}`)],
    category: [type.text, ids.map((id) => `c${id % 5}`)],
    price: [type.f64, ids.map((id) => id / 2)],
    vector: [type.vector(dimension), vectors(count, dimension, seed + from)],
  });
}
