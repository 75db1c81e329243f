/**
 * Text queries, in the forms of the namespace specification and of LanceDB SDKs. The engine decodes them
 * (`crates/joust-text/src/query/wire_format.rs`); a test compares this schema with the engine.
 */
import { type TSchema, Type } from "@sinclair/typebox";

const optional = <S extends TSchema>(schema: S, description?: string) =>
  Type.Optional(
    Type.Union([schema, Type.Null()], description === undefined ? {} : { description }),
  );
const absent = Type.Optional(Type.Null());
const column = optional(
  Type.String({ minLength: 1 }),
  "field path; default: every column with a text index",
);
const columns = Type.Array(Type.String());
const count = (maximum: number) => Type.Integer({ minimum: 0, maximum });
/** Rounds to a finite 32-bit float. */
const weight = Type.Number({ minimum: 0, exclusiveMaximum: 2 ** 128 - 2 ** 103 });
const operator = optional(
  Type.String({ pattern: "^([aA][nN][dD]|[oO][rR])$" }),
  "And or Or (default), in any case",
);
const boosts = optional(Type.Array(weight), "one for each column");
const documents = optional(
  Type.Union([Type.Literal("row"), Type.Literal("list_element")]),
  "the document unit of a list column",
);

const match = Type.Object({
  column,
  terms: Type.String(),
  boost: optional(weight, "default: 1"),
  fuzziness: optional(
    Type.Union([count(5), Type.String({ pattern: "^[aA][uU][tT][oO]$" })]),
    "maximum edit distance, or auto: by the length of the word; default: 0. Null is auto in the form " +
      "of LanceDB SDKs (`query`) and 0 in a `structured_query`",
  ),
  max_expansions: optional(
    count(1_000),
    "maximum number of words that a fuzzy word matches; default: 50",
  ),
  operator,
  prefix_length: optional(
    count(65_535),
    "number of leading characters that must match exactly; default: 0",
  ),
  document_granularity: documents,
});
const phrase = Type.Object({
  column,
  terms: Type.String(),
  slop: optional(count(100), "maximum number of words between the words of the phrase; default: 0"),
  document_granularity: documents,
});
const multiMatch = Type.Union([
  Type.Object({
    match_queries: Type.Array(match, { minItems: 1 }),
    query: optional(Type.String()),
    columns: optional(columns),
    boost: boosts,
    operator,
  }),
  Type.Object(
    {
      match_queries: absent,
      query: Type.String(),
      columns: Type.Array(Type.String(), { minItems: 1 }),
      boost: boosts,
      operator,
    },
    { description: "the form of LanceDB SDKs" },
  ),
]);
const combinedFields = Type.Object({
  query: Type.String(),
  columns: Type.Array(Type.String(), { minItems: 1 }),
  boost: boosts,
  operator,
});

/** One kind of query. Some kinds contain other queries. */
const structuredQuery = Type.Recursive(
  (query) => {
    const clauses = optional(Type.Array(query));
    const kinds: Record<string, TSchema> = {
      match,
      phrase,
      boost: Type.Object({
        positive: query,
        negative: query,
        negative_boost: optional(weight, "default: 0.5"),
      }),
      multi_match: multiMatch,
      combined_fields: combinedFields,
      boolean: Type.Object({ must: clauses, should: clauses, must_not: clauses }),
    };
    return Type.Union(
      Object.entries(kinds).map(([name, schema]) =>
        Type.Object({ [name]: schema }, { additionalProperties: false }),
      ),
    );
  },
  { $id: "FtsQuery" },
);

const words = {
  query: Type.String({ description: "words, or a phrase in double quotes" }),
  columns: optional(columns, "default: every column with a text index"),
};
const structure = { query: structuredQuery };

export const textQuery = Type.Union([
  Type.Object({
    string_query: Type.Object(words),
    structured_query: absent,
    query: absent,
    columns: absent,
  }),
  Type.Object({
    string_query: absent,
    structured_query: Type.Object(structure),
    query: absent,
    columns: absent,
  }),
  Type.Object({ ...words, string_query: absent, structured_query: absent }),
  Type.Object({ ...structure, columns: absent, string_query: absent, structured_query: absent }),
]);
