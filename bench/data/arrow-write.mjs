/** @import { Rows } from "../types.js" */
import { createWriteStream } from "node:fs";
import { stat } from "node:fs/promises";
import { finished } from "node:stream/promises";
import {
  Field,
  FixedSizeList,
  Float32,
  Int64,
  makeData,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  Utf8,
  vectorFromArray,
} from "apache-arrow";

/** Rows of a batch. */
export const ARROW_BATCH = 8192;

/** The schema of every measured table. */
export const tableSchema = (dimensions) =>
  new Schema([
    new Field("id", new Int64(), true),
    new Field("label", new Utf8(), true),
    new Field("number", new Int64(), true),
    new Field("text", new Utf8(), true),
    new Field("vector", vectorType(dimensions), true),
  ]);

const vectorType = (dimensions) =>
  new FixedSizeList(dimensions, new Field("item", new Float32(), true));

/** @param {Rows} rows @param {number} firstId @param {number} dimensions */
export function arrowBatch({ vectors, texts, labels, numbers }, firstId, dimensions) {
  const size = texts.length;
  const integers = (at) =>
    makeData({
      type: new Int64(),
      length: size,
      data: BigInt64Array.from({ length: size }, (_, i) => BigInt(at(i))),
    });
  const strings = (values) => vectorFromArray([...values], new Utf8()).data[0];
  const schema = tableSchema(dimensions);
  const child = makeData({ type: new Float32(), length: vectors.length, data: vectors });
  const children = [
    integers((i) => firstId + i),
    strings(labels),
    integers((i) => Math.trunc(numbers[i])),
    strings(texts),
    makeData({ type: vectorType(dimensions), length: size, child }),
  ];
  const struct = makeData({ type: new Struct(schema.fields), length: size, children });
  return new RecordBatch(schema, struct);
}

/** Writes a file with one Arrow IPC stream, batch by batch. */
export class ArrowWriter {
  #path;
  #file;
  #stream = new RecordBatchStreamWriter();

  /** @param {string} path */
  constructor(path) {
    this.#path = path;
    this.#file = createWriteStream(path);
    this.#stream.toNodeStream().pipe(this.#file);
  }

  /** @param {RecordBatch} batch */
  async write(batch) {
    this.#stream.write(batch);
    // Limits the memory to one batch.
    if (this.#file.writableNeedDrain) {
      await new Promise((resolve) => this.#file.once("drain", resolve));
    }
  }

  /** @returns {Promise<number>} the size of the file in bytes */
  async end() {
    this.#stream.close();
    await finished(this.#file);
    return (await stat(this.#path)).size;
  }
}
