/** Queries whose members are at and beyond the limits of the search: numbers, vectors, text queries, expressions. */
import type { Json } from "../harness/client.js";
import type { Draw } from "./draw.js";
import { sqlTexts, vectors } from "./values.js";

const counts = [0, 1, 2, 1_000, 2 ** 31 - 1, 2 ** 32 - 1, 2 ** 32, 2 ** 53, -1, 1.5, null];
const floats = [0, -0, 1, -1, 1e-45, 3.4e38, -3.4e38, 1e39, null, "@NAN@", "@EXPONENT@"];
const words = [
  "item",
  "item 7",
  '"item 7"',
  '"',
  "",
  " ",
  "*",
  "\u0000",
  "\u{1F600}",
  "itm~",
  "\ud800",
];
const columns = [
  "name",
  "category",
  "id",
  "vector",
  "missing",
  "",
  "name.x",
  "_rowid",
  "_distance",
];

const word = (draw: Draw): string => (draw.chance(0.05) ? "item ".repeat(3_000) : draw.pick(words));

const match = (draw: Draw): Json => ({
  column: draw.pick(columns),
  terms: word(draw),
  boost: draw.pick(floats),
  fuzziness: draw.pick([0, 1, 2, 5, 6, 255, "auto", "AUTO", null]),
  max_expansions: draw.pick(counts),
  operator: draw.pick(["And", "or", "xor"]),
  prefix_length: draw.pick(counts),
});

/** A structured text query; `depth` levels at most. */
function structured(draw: Draw, depth: number): Json {
  const clauses = () => Array.from({ length: draw.below(3) }, () => structured(draw, depth - 1));
  const kinds = {
    match: 4,
    phrase: 2,
    multi: 1,
    boost: depth > 0 ? 2 : 0,
    boolean: depth > 0 ? 3 : 0,
  };
  switch (draw.weighted(kinds)) {
    case "match":
      return { match: match(draw) };
    case "phrase":
      return {
        phrase: {
          column: draw.pick(columns),
          terms: word(draw),
          slop: draw.pick([0, 1, 100, 101]),
        },
      };
    case "multi":
      return { multi_match: { query: word(draw), columns: ["name"], boost: [draw.pick(floats)] } };
    case "boost":
      return {
        boost: {
          positive: structured(draw, depth - 1),
          negative: structured(draw, depth - 1),
          negative_boost: draw.pick(floats),
        },
      };
    default:
      return { boolean: { must: clauses(), should: clauses(), must_not: clauses() } };
  }
}

const members: Readonly<Record<string, (draw: Draw) => unknown>> = {
  k: (draw) => draw.pick(counts),
  vector: (draw) => structuredClone(draw.pick(vectors)),
  vector_column: (draw) => draw.pick(columns),
  nprobes: (draw) => draw.pick(counts),
  minimum_nprobes: (draw) => draw.pick(counts),
  maximum_nprobes: (draw) => draw.pick(counts),
  refine_factor: (draw) => draw.pick(counts),
  ef: (draw) => draw.pick(counts),
  offset: (draw) => draw.pick(counts),
  version: (draw) => draw.pick(counts),
  lower_bound: (draw) => draw.pick(floats),
  upper_bound: (draw) => draw.pick(floats),
  search_effort: (draw) => draw.pick(floats),
  distance_type: (draw) => draw.pick(["l2", "cosine", "dot", "hamming", "COSINE", "", null]),
  approx_mode: (draw) => draw.pick(["fast", "normal", "accurate", "", null]),
  bypass_vector_index: (draw) => draw.chance(0.5),
  fast_search: (draw) => draw.chance(0.5),
  prefilter: (draw) => draw.chance(0.5),
  with_row_id: (draw) => draw.chance(0.5),
  filter: (draw) => draw.pick(sqlTexts),
  order_by: (draw) => [
    { column_name: draw.pick(columns), ascending: draw.chance(0.5), nulls_first: draw.chance(0.5) },
  ],
  columns: (draw) =>
    draw.pick([
      () => [draw.pick(columns), draw.pick(columns)],
      () => ({ column_names: [draw.pick(columns)] }),
      () => ({ column_aliases: { x: draw.pick(sqlTexts), [draw.pick(columns)]: "id + 1" } }),
      () => ({ x: draw.pick(sqlTexts) }),
      () => Array(2_000).fill("id"),
    ])(),
  full_text_query: (draw) =>
    draw.pick([
      () => ({ string_query: { query: word(draw), columns: [draw.pick(columns)] } }),
      () => ({ structured_query: { query: structured(draw, 1 + draw.below(4)) } }),
      () => ({ query: word(draw) }),
    ])(),
  hybrid: (draw) => ({
    method: draw.pick(["rrf", "weighted", "x"]),
    rank_constant: draw.pick(floats),
    vector_weight: draw.pick(floats),
  }),
  highlight: (draw) => ({
    columns: [draw.pick(columns)],
    pre_tag: word(draw),
    max_chars: draw.pick(counts),
    fragments: draw.pick(counts),
  }),
};

const rightVector = [0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6];

/** A search by vector, by text, by both or by none, with one to four members that may be wrong. */
export function hostileQuery(draw: Draw): Json {
  const query: Json = { k: 5, vector: draw.chance(0.6) ? { single_vector: rightVector } : {} };
  const names = Object.keys(members);
  for (let count = 1 + draw.below(4); count > 0; count--) {
    const name = draw.pick(names);
    query[name] = (members[name] as (draw: Draw) => unknown)(draw);
  }
  return query;
}
