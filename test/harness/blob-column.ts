import { Field, LargeBinary, Struct, Utf8, type Vector, vectorFromArray } from "apache-arrow";

/** A column of Lance's blob type. */
export function blobColumn(
  name: string,
  values: readonly (Uint8Array | null)[],
): { field: Field; vector: Vector } {
  const stored = new Struct([
    new Field("data", new LargeBinary(), true),
    new Field("uri", new Utf8(), true),
  ]);
  const metadata = new Map([["ARROW:extension:name", "lance.blob.v2"]]);
  const rows = values.map((data) => (data === null ? null : { data, uri: null }));
  return { field: new Field(name, stored, true, metadata), vector: vectorFromArray(rows, stored) };
}
