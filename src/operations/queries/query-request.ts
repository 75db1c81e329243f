import { type TSchema, Type } from "@sinclair/typebox";
import { commonMembers, mapOf } from "../../api/schemas.js";
import { textQuery } from "./text-query.js";

/** Null means absent. */
const optional = <S extends TSchema>(schema: S, description?: string) =>
  Type.Optional(
    Type.Union([schema, Type.Null()], description === undefined ? {} : { description }),
  );
const flag = (description: string) => optional(Type.Boolean(), description);
const text = (description: string) => optional(Type.String(), description);
/** The engine reads counts as integers of 64 or 32 bits. */
const count64 = Type.Integer({ minimum: 0, exclusiveMaximum: 2 ** 64 });
const count32 = Type.Integer({ minimum: 0, exclusiveMaximum: 2 ** 32 });

/** Numbers that round to a finite 32-bit float. */
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
  { description: "at most one of the two members" },
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
    description: "aliases; LanceDB SDKs send each alias as a member of this object",
  },
);

const ordering = Type.Object({
  column_name: Type.String(),
  ascending: Type.Optional(Type.Boolean({ description: "default: true" })),
  nulls_first: Type.Optional(Type.Boolean({ description: "default: false" })),
});

const highlight = Type.Object({
  columns: optional(Type.Array(Type.String()), "default: all searched columns"),
  pre_tag: text("inserted before a matched word; default: <em>"),
  post_tag: text("inserted after it; default: </em>"),
  max_chars: optional(count32, "maximum length of a passage; default: 160"),
  fragments: optional(count32, "maximum number of passages of a text; default: 3"),
});

const hybrid = Type.Object({
  method: optional(
    Type.Union([Type.Literal("rrf"), Type.Literal("weighted")]),
    "reciprocal rank fusion (default) or weighted scores",
  ),
  rank_constant: optional(Type.Number(), "rrf: added to every rank; default: 60"),
  vector_weight: optional(
    Type.Number(),
    "weighted: weight of the vector score, 0 to 1; default: 0.5",
  ),
});

/**
 * The body of a query, in the forms of the namespace specification and of LanceDB SDKs. The engine decodes it
 * (`crates/joust-core/src/query/request.rs`); a test compares this schema with the engine.
 */
export const queryRequest = Type.Object({
  identity: optional(commonMembers.identity),
  context: optional(commonMembers.context),
  id: optional(commonMembers.id),
  k: Type.Integer({ minimum: 0, exclusiveMaximum: 2 ** 64, description: "maximum number of rows" }),
  vector: optional(
    Type.Union([vectorMembers, vector, vectors]),
    "the query vectors; absent or empty: no vector search",
  ),
  branch: text("branch to query; default: main"),
  version: optional(count64, "table version; default: the latest"),
  bypass_vector_index: flag("compare every row: exact search"),
  columns: optional(
    Type.Union([columnNames, columnAliases, Type.Array(Type.String())]),
    "columns to return, by name or by alias; default: all",
  ),
  distance_type: text("l2, cosine, dot or hamming"),
  ef: optional(count32, "size of the candidate list while an HNSW graph is searched"),
  fast_search: flag("search only indexed rows"),
  filter: text("SQL over the table's columns"),
  full_text_query: optional(textQuery, "words to search for in columns with a text index"),
  highlight: optional(highlight, "return passages of the texts as `_highlights`"),
  hybrid: optional(hybrid, "how to rank a search by vector and by text together"),
  lower_bound: optional(Type.Number(), "minimum distance, inclusive"),
  upper_bound: optional(Type.Number(), "maximum distance, exclusive"),
  nprobes: optional(count32, "number of IVF partitions to search"),
  minimum_nprobes: optional(count32, "minimum number of IVF partitions to search"),
  maximum_nprobes: optional(count32, "maximum number of IVF partitions to search; 0: no limit"),
  search_effort: optional(
    Type.Number({ minimum: 0, maximum: 1 }),
    "share of the index to search, instead of nprobes",
  ),
  approx_mode: text("fast, normal or accurate"),
  offset: optional(count64, "number of rows to skip"),
  order_by: optional(Type.Array(ordering), "sort order of a query without a vector"),
  prefilter: flag("filter before the vector search, not after; default: true"),
  refine_factor: optional(count32, "fetch this multiple of k rows and rank them by exact distance"),
  vector_column: text("default: the column that matches the vector"),
  with_row_id: flag("add the column _rowid"),
});

/** The body of ExplainTableQueryPlan. */
export const explainRequest = Type.Object({
  identity: optional(commonMembers.identity),
  context: optional(commonMembers.context),
  id: optional(commonMembers.id),
  branch: text("same as in the query"),
  query: queryRequest,
  verbose: flag("also show the columns of each step"),
});
