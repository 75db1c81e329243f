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
import { DIMENSION } from "./embedding.mjs";

const types = {
  package: new Utf8(),
  kind: new Utf8(),
  title: new Utf8(),
  text: new Utf8(),
  words: new Int32(),
  vector: new FixedSizeList(DIMENSION, new Field("item", new Float32(), true)),
};

/** The rows with their vectors as an Arrow IPC stream: the body of a create. */
export function arrowStream(rows, vectors) {
  const valuesOf = (name) => (name === "vector" ? vectors : rows.map((row) => row[name]));
  const columns = Object.entries(types).map(([name, type]) => [
    name,
    vectorFromArray(valuesOf(name), type),
  ]);
  const schema = new Schema(
    Object.entries(types).map(([name, type]) => new Field(name, type, true)),
  );
  return tableToIPC(new Table(schema, Object.fromEntries(columns)), "stream");
}
