import { createReadStream } from "node:fs";
import { RecordBatchReader } from "apache-arrow";

/**
 * The rows of a file as plain values, `size` at a time, for contenders without Arrow.
 *
 * @param {string} path
 * @param {number} size
 */
export async function* arrowFileBatches(path, size) {
  const reader = await RecordBatchReader.from(createReadStream(path));
  for await (const batch of reader) {
    for (let at = 0; at < batch.numRows; at += size) {
      const part = batch.slice(at, Math.min(batch.numRows, at + size));
      yield plainRows(part);
    }
  }
}

/** @param {import("apache-arrow").RecordBatch} batch */
export function plainRows(batch) {
  const values = (name) => Array.from(batch.getChild(name) ?? []);
  return {
    ids: values("id").map(Number),
    labels: /** @type {string[]} */ (values("label")),
    numbers: values("number").map(Number),
    texts: /** @type {string[]} */ (values("text")),
    vectors: values("vector").map((list) => Array.from(list, Number)),
  };
}
