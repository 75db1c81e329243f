import { type Case, errors, failure } from "../case.js";

const vector = { single_vector: Array(8).fill(0) };

/** Cause, members of the query, error, message. */
const wrong: [string, object, readonly [number, number], RegExp][] = [
  ["no k", { k: undefined }, errors.invalid, /k/],
  ["unknown version", { version: 99 }, errors.noVersion, /99/],
  ["unknown branch", { branch: "no" }, errors.noBranch, /no/],
  ["unknown column", { columns: { column_names: ["no"] } }, errors.noColumn, /no/],
  [
    "unknown column in an expression",
    { columns: { column_aliases: { a: "no + 1" } } },
    errors.noColumn,
    /no/,
  ],
  [
    "both forms of columns",
    { columns: { column_names: ["id"], column_aliases: { a: "id" } } },
    errors.invalid,
    /column_names/,
  ],
  [
    "a name where names belong",
    { columns: { column_names: "id" } },
    errors.invalid,
    /column_names.*array/,
  ],
  [
    "a name where aliases belong",
    { columns: { column_aliases: "id" } },
    errors.invalid,
    /column_aliases.*map/,
  ],
  ["unknown column in the filter", { filter: "no = 1" }, errors.noColumn, /no/],
  [
    "a filter that is no SQL",
    { filter: "id = = 1" },
    errors.invalid,
    /filter|SQL|parse|condition|expression/i,
  ],
  ["unknown vector column", { vector, vector_column: "no" }, errors.noColumn, /no/],
  ["a column of no vectors", { vector, vector_column: "name" }, errors.invalid, /name/],
  ["a vector of another length", { vector: { single_vector: [1, 2] } }, errors.invalid, /2/],
  [
    "vectors of two lengths",
    { vector: { multi_vector: [[1], [1, 2]] } },
    errors.invalid,
    /length|dimension|vector/,
  ],
  [
    "both vectors",
    { vector: { single_vector: [1], multi_vector: [[1]] } },
    errors.invalid,
    /not both/,
  ],
  ["unknown distance", { vector, distance_type: "near" }, errors.invalid, /near.*l2/],
  ["unknown approx_mode", { vector, approx_mode: "best" }, errors.invalid, /best.*fast/],
  ["search_effort of 2", { vector, search_effort: 2 }, errors.invalid, /search_effort/],
  ["unknown column to sort by", { order_by: [{ column_name: "no" }] }, errors.noColumn, /no/],
  [
    "unknown operator of words",
    {
      full_text_query: { structured_query: { query: { match: { terms: "a", operator: "xor" } } } },
    },
    errors.invalid,
    /xor/,
  ],
  [
    "unknown kind of text query",
    { full_text_query: { structured_query: { query: { regex: {} } } } },
    errors.invalid,
    /regex/,
  ],
  [
    "unknown text column",
    { full_text_query: { string_query: { query: "item", columns: ["no"] } } },
    errors.noColumn,
    /no/,
  ],
];

export const queries: Case[] = wrong.flatMap(([why, members, error, detail]) => {
  const query = { k: 1, vector: {}, ...members };
  return [
    failure("QueryTable", why, "/v1/table/ns$t/query", query, error, detail),
    failure("AnalyzeTableQueryPlan", why, "/v1/table/ns$t/analyze_plan", query, error, detail),
    failure("ExplainTableQueryPlan", why, "/v1/table/ns$t/explain_plan", { query }, error, detail),
  ];
});
