import {
  Field,
  FixedSizeList,
  Float32,
  Int32,
  Schema,
  Table,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import type { Row } from "./corpus.js";
import { DIMENSION } from "./embedding.js";

const types = {
  package: new Utf8(),
  kind: new Utf8(),
  title: new Utf8(),
  text: new Utf8(),
  words: new Int32(),
  vector: new FixedSizeList(DIMENSION, new Field("item", new Float32(), true)),
};

/** The rows with their vectors as an Arrow IPC stream: the body of a create request. */
export function arrowStream(rows: readonly Row[], vectors: readonly Float32Array[]): Uint8Array {
  const valuesOf = (name: keyof typeof types) =>
    name === "vector" ? vectors : rows.map((row) => row[name]);
  const names = Object.keys(types) as (keyof typeof types)[];
  const columns = names.map((name) => [name, vectorFromArray(valuesOf(name), types[name])]);
  const schema = new Schema(names.map((name) => new Field(name, types[name], true)));
  return tableToIPC(new Table(schema, Object.fromEntries(columns)), "stream");
}
