import { type Static, Type } from "@sinclair/typebox";
import { branch } from "../../api/schemas.js";

const optional = Type.Optional;
const natural = (description: string) => optional(Type.Integer({ minimum: 1, description }));
const flag = (description: string) => optional(Type.Boolean({ description }));

/**
 * The body of the two create operations. The defaults depend on the table. Which values are valid depends on the index
 * type and the column: the engine checks them when it plans the build.
 */
export const indexRequest = Type.Object({
  column: Type.String({ minLength: 1, description: "path of the field to index" }),
  index_type: Type.String({
    description:
      "IVF_FLAT, IVF_SQ, IVF_PQ, IVF_RQ, IVF_HNSW_FLAT, IVF_HNSW_SQ, IVF_HNSW_PQ, BTREE, BITMAP, LABEL_LIST, NGRAM, ZONEMAP, BLOOM_FILTER, FM, FTS or INVERTED",
  }),
  name: optional(Type.String({ minLength: 1, description: "default: <column>_idx" })),
  branch,
  replace: flag("replace an existing index of the same name; default: false"),
  distance_type: optional(Type.String({ description: "l2, cosine, dot or hamming" })),
  num_partitions: natural("IVF partitions"),
  target_partition_size: natural("rows per IVF partition, instead of num_partitions"),
  num_sub_vectors: natural("number of sub-vectors that PQ encodes"),
  num_bits: natural("bits of a code word"),
  sample_rate: natural("training vectors per partition"),
  max_iterations: natural("rounds of k-means"),
  m: natural("edges per HNSW node"),
  ef_construction: natural("size of the candidate list while an HNSW graph is built"),
  number_of_items: natural("BLOOM_FILTER: rows per filter"),
  probability: optional(Type.Number({ description: "BLOOM_FILTER: share of false positives" })),
  with_position: flag("text: store the positions of words, which phrase queries need"),
  base_tokenizer: optional(
    Type.String({
      description:
        "text: simple, whitespace, raw, ngram, icu or icu/split (words, also Chinese and Japanese); FTS also: cjk (pairs of Chinese, Japanese and Korean letters)",
    }),
  ),
  language: optional(Type.String({ description: "text: language for stemming and stop words" })),
  max_token_length: optional(
    Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
      description: "text: longer words are not indexed; default: 40, null: no limit",
    }),
  ),
  lower_case: flag("text: ignore letter case"),
  stem: flag("text: index the stems of words"),
  remove_stop_words: flag("text: do not index stop words"),
  custom_stop_words: optional(Type.Array(Type.String())),
  ascii_folding: flag("text: ignore accents"),
  min_ngram_length: natural("text, tokenizer ngram"),
  max_ngram_length: natural("text, tokenizer ngram"),
  block_size: optional(
    Type.Union([Type.Literal(128), Type.Literal(256)], {
      description:
        "text: documents in a posting block; default: 128. With 256 the index is Lance's INVERTED, because FTS has blocks of 128",
    }),
  ),
  prefix_only: flag("text, tokenizer ngram: only prefixes of words"),
});

export type IndexRequest = Static<typeof indexRequest>;

/** The spec of an index build. Its JSON is the spec of the job and the input of the engine. No branch: main. */
export type IndexSpec = IndexRequest & { name: string };

/** The name of the job that builds an index. Each branch has its own indexes. A branch name contains no colon. */
export const buildName = (branch: string | undefined, index: string): string =>
  branch === undefined ? index : `${branch}:${index}`;

/** The members that define the index, without unknown members of the body: equal requests have equal specs. */
export function buildOptions(request: IndexRequest): Omit<IndexRequest, "branch"> {
  const { branch: _, ...members } = request;
  const known = Object.entries(members).filter(([name]) => name in indexRequest.properties);
  return Object.fromEntries(known) as Omit<IndexRequest, "branch">;
}
