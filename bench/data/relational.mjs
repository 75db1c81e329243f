/** @import { Relational } from "../types.js" */
import { join } from "node:path";
import { Field, Int64, makeData, RecordBatch, Schema, Struct, Utf8 } from "apache-arrow";
import { ARROW_BATCH, ArrowWriter } from "./arrow-write.mjs";
import { random } from "./random.mjs";

const LABELS = 20;
const GROUPS = 1_000;
const REGIONS = 8;
/** Bytes of a text. All texts are equally long. */
const TEXT = 64;
const NUMBERS = 1_000_000;

const rowsSchema = new Schema([
  new Field("id", new Int64(), true),
  new Field("label", new Utf8(), true),
  new Field("number", new Int64(), true),
  new Field("group_id", new Int64(), true),
  new Field("text", new Utf8(), true),
]);
const groupsSchema = new Schema([
  new Field("id", new Int64(), true),
  new Field("region", new Utf8(), true),
]);

const labelOf = (label) => `label-${String(label).padStart(2, "0")}`;
const regionOf = (group) => `region-${group % REGIONS}`;
const textOf = (id) => `row ${id} `.padEnd(TEXT, "the quick brown fox jumps over the lazy dog ");

/**
 * Writes the tables of the SQL scenarios: `bench_rows` without vectors, and `bench_groups`, to which its column
 * `group_id` refers. Computes the right answers of the aggregate and of the join.
 *
 * @param {{ rows: number, seed: number }} wanted
 * @param {string} folder
 * @returns {Promise<Relational>}
 */
export async function makeRelational({ rows, seed }, folder) {
  const chance = random(seed + 5);
  const labels = new Totals();
  const regions = new Totals();
  const files = {
    bench_rows: join(folder, "relational.arrows"),
    bench_groups: join(folder, "groups.arrows"),
  };
  const writer = new ArrowWriter(files.bench_rows);
  for (let first = 0; first < rows; first += ARROW_BATCH) {
    const ids = Array.from({ length: Math.min(ARROW_BATCH, rows - first) }, (_, i) => first + i);
    const values = ids.map(() => ({
      label: labelOf(chance.below(LABELS)),
      number: chance.below(NUMBERS),
      group: chance.below(GROUPS),
    }));
    for (const { label, number, group } of values) {
      labels.add(label, number);
      regions.add(regionOf(group), number);
    }
    await writer.write(
      batch(rowsSchema, [
        integers(ids),
        strings(values.map(({ label }) => label)),
        integers(values.map(({ number }) => number)),
        integers(values.map(({ group }) => group)),
        strings(ids.map(textOf)),
      ]),
    );
  }
  await writer.end();
  const groups = new ArrowWriter(files.bench_groups);
  const ids = Array.from({ length: GROUPS }, (_, id) => id);
  await groups.write(batch(groupsSchema, [integers(ids), strings(ids.map(regionOf))]));
  await groups.end();
  return { rows, files, textOf, byLabel: labels.rows(), byRegion: regions.rows() };
}

/** The number of rows and the sum of their numbers for each key. */
class Totals {
  /** @type {Map<string, [rows: number, sum: number]>} */
  #totals = new Map();

  add(key, number) {
    const total = this.#totals.get(key) ?? [0, 0];
    this.#totals.set(key, [total[0] + 1, total[1] + number]);
  }

  /** `[key, rows, sum]` in the order of the keys. @returns {[string, number, number][]} */
  rows() {
    const sorted = [...this.#totals].sort(([a], [b]) => (a < b ? -1 : 1));
    return sorted.map(([key, [rows, sum]]) => [key, rows, sum]);
  }
}

function batch(schema, children) {
  const { length } = children[0];
  return new RecordBatch(schema, makeData({ type: new Struct(schema.fields), length, children }));
}

function integers(values) {
  const data = BigInt64Array.from(values, BigInt);
  return makeData({ type: new Int64(), length: values.length, data });
}

/** ASCII texts. */
function strings(values) {
  const valueOffsets = new Int32Array(values.length + 1);
  for (let i = 0; i < values.length; i++) valueOffsets[i + 1] = valueOffsets[i] + values[i].length;
  const data = new Uint8Array(Buffer.from(values.join(""), "latin1"));
  return makeData({ type: new Utf8(), length: values.length, valueOffsets, data });
}
