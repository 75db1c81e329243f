import { type TSchema, Type } from "@sinclair/typebox";
import { commonMembers, mapOf } from "../../api/schemas.js";
import { textQuery } from "./text-query.js";

/** What may be null is as if it were left out. */
const optional = <S extends TSchema>(schema: S, description?: string) =>
  Type.Optional(
    Type.Union([schema, Type.Null()], description === undefined ? {} : { description }),
  );
const flag = (description: string) => optional(Type.Boolean(), description);
const text = (description: string) => optional(Type.String(), description);
/** Integers that JSON can hold and the engine counts with: 64 bits, or 32. */
const count64 = Type.Integer({ minimum: 0, exclusiveMaximum: 2 ** 64 });
const count32 = Type.Integer({ minimum: 0, exclusiveMaximum: 2 ** 32 });

/** Numbers that a 32-bit float holds: what would be rounded to infinity is refused. */
const overflow = 2 ** 128 - 2 ** 103;
const float32 = Type.Number({ exclusiveMinimum: -overflow, exclusiveMaximum: overflow });
const vector = Type.Array(float32);
const vectors = Type.Array(vector);
const filled = Type.Array(Type.Unknown(), { minItems: 1 });

const vectorMembers = Type.Intersect(
  [
    Type.Object({ single_vector: optional(vector), multi_vector: optional(vectors) }),
    Type.Not(Type.Object({ single_vector: filled, multi_vector: filled })),
  ],
  { description: "one of the two, or neither" },
);

const columnNames = Type.Object(
  {
    column_names: Type.Array(Type.String()),
    column_aliases: optional(Type.Object({}, { maxProperties: 0 })),
  },
  { additionalProperties: Type.Null(), description: "field paths" },
);
const columnAliases = Type.Object(
  {
    column_names: optional(Type.Array(Type.String(), { maxItems: 0 })),
    column_aliases: optional(mapOf(Type.String()), "alias to SQL expression"),
  },
  {
    additionalProperties: Type.Union([Type.String(), Type.Null()]),
    description: "aliases; those of LanceDB SDKs are members of their own",
  },
);

const ordering = Type.Object({
  column_name: Type.String(),
  ascending: Type.Optional(Type.Boolean({ description: "default: true" })),
  nulls_first: Type.Optional(Type.Boolean({ description: "default: false" })),
});

const highlight = Type.Object({
  columns: optional(Type.Array(Type.String()), "default: all columns that are searched"),
  pre_tag: text("before a word that was found; default: <em>"),
  post_tag: text("after it; default: </em>"),
  max_chars: optional(count32, "of a passage; default: 160"),
  fragments: optional(count32, "passages of a text; default: 3"),
});

const hybrid = Type.Object({
  method: optional(
    Type.Union([Type.Literal("rrf"), Type.Literal("weighted")]),
    "reciprocal ranks (default) or weighted scores",
  ),
  rank_constant: optional(Type.Number(), "rrf: added to every rank; default: 60"),
  vector_weight: optional(Type.Number(), "weighted: share of the vector, 0 to 1; default: 0.5"),
});

/**
 * The query body, in the forms of the namespace interface and of the LanceDB SDKs. It is the engine
 * that reads it (`crates/joust-core/src/query/request.rs`); a test holds the two together.
 */
export const queryRequest = Type.Object({
  identity: optional(commonMembers.identity),
  context: optional(commonMembers.context),
  id: optional(commonMembers.id),
  k: Type.Integer({ minimum: 0, exclusiveMaximum: 2 ** 64, description: "most rows to return" }),
  vector: optional(
    Type.Union([vectorMembers, vector, vectors]),
    "what to search for; neither vector, or none at all, for a query without one",
  ),
  branch: text("branch to query; default: main"),
  version: optional(count64, "table version; default: the latest"),
  bypass_vector_index: flag("compare with every row"),
  columns: optional(
    Type.Union([columnNames, columnAliases, Type.Array(Type.String())]),
    "columns to return, by name or by alias; default: all",
  ),
  distance_type: text("l2, cosine, dot or hamming"),
  ef: optional(count32, "candidates kept while an HNSW graph is searched"),
  fast_search: flag("search indexed rows only"),
  filter: text("SQL over the table's columns"),
  full_text_query: optional(textQuery, "words to search for in columns with a text index"),
  highlight: optional(highlight, "return passages of the texts as `_highlights`"),
  hybrid: optional(hybrid, "how a search by vector and by text at once is put in one order"),
  lower_bound: optional(Type.Number(), "least distance, inclusive"),
  upper_bound: optional(Type.Number(), "greatest distance, exclusive"),
  nprobes: optional(count32, "IVF partitions to search"),
  minimum_nprobes: optional(count32, "IVF partitions to search at least"),
  maximum_nprobes: optional(count32, "IVF partitions to search at most; 0: no bound"),
  search_effort: optional(
    Type.Number({ minimum: 0, maximum: 1 }),
    "how much of an index to search, instead of nprobes",
  ),
  approx_mode: text("fast, normal or accurate"),
  offset: optional(count64, "rows to skip"),
  order_by: optional(Type.Array(ordering), "sort order of a query without a vector"),
  prefilter: flag("filter before the vector search, not after it; default: true"),
  refine_factor: optional(count32, "fetch so many times k and rank them by exact distance"),
  vector_column: text("default: the one that fits the vector"),
  with_row_id: flag("add the column _rowid"),
});

/** A query to be explained. */
export const explainRequest = Type.Object({
  identity: optional(commonMembers.identity),
  context: optional(commonMembers.context),
  id: optional(commonMembers.id),
  branch: text("as in the query"),
  query: queryRequest,
  verbose: flag("show the columns of each step too"),
});
