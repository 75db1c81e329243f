/**
 * What to search text for, in the forms of the namespace interface and of the LanceDB SDKs. The
 * engine reads it (`crates/joust-core/src/query/text_form.rs`); a test holds the two together.
 */
import { type TSchema, Type } from "@sinclair/typebox";

const optional = <S extends TSchema>(schema: S, description?: string) =>
  Type.Optional(
    Type.Union([schema, Type.Null()], description === undefined ? {} : { description }),
  );
const absent = Type.Optional(Type.Null());
const column = optional(Type.String(), "field path; default: every column with a text index");
const columns = Type.Array(Type.String());
const count = Type.Integer({ minimum: 0, maximum: 2 ** 32 - 1 });
const operator = optional(
  Type.String({ pattern: "^([aA][nN][dD]|[oO][rR])$" }),
  "And or Or (default), in any case",
);
const boosts = optional(Type.Array(Type.Number()), "one for each column");

const match = Type.Object({
  column,
  terms: Type.String(),
  boost: optional(Type.Number(), "default: 1"),
  fuzziness: optional(count, "edits that a word may be away; null: by its length"),
  max_expansions: optional(count, "words that a fuzzy one may stand for; default: 50"),
  operator,
  prefix_length: optional(count, "characters at the beginning that must agree; default: 0"),
});
const phrase = Type.Object({
  column,
  terms: Type.String(),
  slop: optional(count, "words that may stand between; default: 0"),
});
const multiMatch = Type.Union([
  Type.Object({
    match_queries: Type.Array(match, { minItems: 1 }),
    query: optional(Type.String()),
    columns: optional(columns),
    boost: boosts,
  }),
  Type.Object(
    {
      match_queries: absent,
      query: Type.String(),
      columns: Type.Array(Type.String(), { minItems: 1 }),
      boost: boosts,
    },
    { description: "of LanceDB SDKs" },
  ),
]);
const combinedFields = Type.Object({ query: Type.String(), columns, boost: boosts, operator });

/** One kind of query; some hold others. */
const structuredQuery = Type.Recursive(
  (query) => {
    const clauses = optional(Type.Array(query));
    const kinds: Record<string, TSchema> = {
      match,
      phrase,
      boost: Type.Object({
        positive: query,
        negative: query,
        negative_boost: optional(Type.Number(), "default: 0.5"),
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
