import { Type } from "@sinclair/typebox";

const optional = Type.Optional;
const natural = (description: string) => optional(Type.Integer({ minimum: 0, description }));
const flag = (description: string) => optional(Type.Boolean({ description }));

/** The query body as the API page shows it. It is the engine that reads and checks it. */
export const queryRequest = Type.Object({
  k: Type.Integer({ minimum: 0, description: "most rows to return" }),
  vector: Type.Object(
    {
      single_vector: optional(Type.Array(Type.Number())),
      multi_vector: optional(Type.Array(Type.Array(Type.Number()))),
    },
    { description: "one of the two, neither for a query without a vector; an empty one is absent" },
  ),
  bypass_vector_index: flag("compare with every row"),
  columns: optional(
    Type.Object(
      {
        column_names: optional(Type.Array(Type.String())),
        column_aliases: optional(Type.Record(Type.String(), Type.String())),
      },
      { description: "one of the two, beside which an empty one is absent; default: all columns" },
    ),
  ),
  distance_type: optional(Type.String({ description: "l2, cosine, dot or hamming" })),
  ef: natural("candidates kept while an HNSW graph is searched"),
  fast_search: flag("search indexed rows only"),
  filter: optional(Type.String({ description: "SQL over the table's columns" })),
  lower_bound: optional(Type.Number({ description: "least distance, inclusive" })),
  upper_bound: optional(Type.Number({ description: "greatest distance, exclusive" })),
  nprobes: natural("IVF partitions to search"),
  minimum_nprobes: natural("IVF partitions to search at least"),
  maximum_nprobes: natural("IVF partitions to search at most; 0: no bound"),
  offset: natural("rows to skip"),
  prefilter: flag("filter before the vector search, not after it"),
  refine_factor: natural("fetch so many times k and rank them by exact distance"),
  vector_column: optional(Type.String({ description: "default: the one that fits the vector" })),
  version: natural("table version; default: the latest"),
  with_row_id: flag("add the column _rowid"),
});
