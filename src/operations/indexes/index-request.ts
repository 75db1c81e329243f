import { type Static, Type } from "@sinclair/typebox";
import { branch } from "../../api/schemas.js";

const optional = Type.Optional;
const natural = (description: string) => optional(Type.Integer({ minimum: 1, description }));
const flag = (description: string) => optional(Type.Boolean({ description }));

/**
 * Body of the two create operations; members left out take defaults that fit the table. Which
 * values a member may have depends on the type and the column: the engine tells when it plans.
 */
export const indexRequest = Type.Object({
  column: Type.String({ minLength: 1, description: "path of the field to index" }),
  index_type: Type.String({
    description:
      "IVF_FLAT, IVF_SQ, IVF_PQ, IVF_RQ, IVF_HNSW_FLAT, IVF_HNSW_SQ, IVF_HNSW_PQ, BTREE, BITMAP, LABEL_LIST, NGRAM, ZONEMAP, BLOOM_FILTER, FM, FTS or INVERTED",
  }),
  name: optional(Type.String({ minLength: 1, description: "default: <column>_idx" })),
  branch,
  replace: flag("put the index in the place of one of the same name; default: false"),
  distance_type: optional(Type.String({ description: "l2, cosine, dot or hamming" })),
  num_partitions: natural("IVF partitions"),
  target_partition_size: natural("rows per IVF partition, instead of num_partitions"),
  num_sub_vectors: natural("parts of a vector that PQ encodes"),
  num_bits: natural("bits of a code"),
  sample_rate: natural("training vectors per partition"),
  max_iterations: natural("rounds of k-means"),
  m: natural("edges per HNSW node"),
  ef_construction: natural("candidates kept while an HNSW graph is built"),
  number_of_items: natural("BLOOM_FILTER: rows per filter"),
  probability: optional(Type.Number({ description: "BLOOM_FILTER: share of false positives" })),
  with_position: flag("text: keep the positions of words, for phrases"),
  base_tokenizer: optional(
    Type.String({
      description:
        "text: simple, whitespace, raw, ngram, icu or icu/split (words, also of Chinese and Japanese); FTS also: cjk (pairs of Chinese, Japanese and Korean letters)",
    }),
  ),
  language: optional(Type.String({ description: "text: language of stems and stop words" })),
  max_token_length: optional(
    Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
      description: "text: longer words are left out; default: 40, null: none are",
    }),
  ),
  lower_case: flag("text: letter case does not count"),
  stem: flag("text: words count by their stems"),
  remove_stop_words: flag("text: leave frequent words out"),
  custom_stop_words: optional(Type.Array(Type.String())),
  ascii_folding: flag("text: accents do not count"),
  min_ngram_length: natural("text, tokenizer ngram"),
  max_ngram_length: natural("text, tokenizer ngram"),
  block_size: optional(
    Type.Union([Type.Literal(128), Type.Literal(256)], {
      description:
        "text: documents in a posting block; default: 128. 256 builds Lance's own index (INVERTED), because FTS has blocks of 128",
    }),
  ),
  prefix_only: flag("text, tokenizer ngram: beginnings of words only"),
});

export type IndexRequest = Static<typeof indexRequest>;

/** What is built, as JSON the spec of both the engine and the job; no branch: the main one. */
export type IndexSpec = IndexRequest & { name: string };

/**
 * The name of the job that builds an index. Branches have indexes of their own, so theirs are told
 * apart by the branch; no name of a branch holds a colon.
 */
export const buildName = (branch: string | undefined, index: string): string =>
  branch === undefined ? index : `${branch}:${index}`;

/** The members that say what to build: equal wishes are equal specs, whatever else a body holds. */
export function buildOptions(request: IndexRequest): Omit<IndexRequest, "branch"> {
  const { branch: _, ...members } = request;
  const known = Object.entries(members).filter(([name]) => name in indexRequest.properties);
  return Object.fromEntries(known) as Omit<IndexRequest, "branch">;
}
