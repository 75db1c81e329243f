import { type Case, errors, failure } from "../case.js";

const index = (
  operation: string,
  why: string,
  members: object,
  error: readonly [number, number],
  detail: RegExp,
) =>
  failure(
    operation,
    why,
    `/v1/table/ns$t/${operation === "CreateTableIndex" ? "create_index" : "create_scalar_index"}`,
    { column: "name", index_type: "BTREE", ...members },
    error,
    detail,
  );

const both = (...rest: [string, object, readonly [number, number], RegExp]): Case[] =>
  ["CreateTableIndex", "CreateTableScalarIndex"].map((operation) => index(operation, ...rest));

const onVector = (why: string, members: object, detail: RegExp): Case =>
  index(
    "CreateTableIndex",
    why,
    { column: "vector", index_type: "IVF_PQ", ...members },
    errors.invalid,
    detail,
  );

export const indexes: Case[] = [
  ...both("unknown column", { column: "no" }, errors.noColumn, /no/),
  ...both("unknown type", { index_type: "TREE" }, errors.invalid, /TREE/),
  ...both(
    "a type the column cannot have",
    { column: "name", index_type: "LABEL_LIST" },
    errors.invalid,
    /LABEL_LIST/,
  ),
  ...both("the name is another index's", { name: "id_idx" }, errors.indexExists, /id_idx/),
  ...both("unknown branch", { branch: "no" }, errors.noBranch, /no/),
  ...both(
    "unknown tokenizer",
    { index_type: "FTS", base_tokenizer: "x" },
    errors.invalid,
    /base_tokenizer|tokenizer/,
  ),
  ...both(
    "unknown language",
    { index_type: "FTS", language: "Klingon" },
    errors.invalid,
    /Klingon/,
  ),
  ...both(
    "a bad share",
    { index_type: "BLOOM_FILTER", probability: 2 },
    errors.invalid,
    /probability/,
  ),
  onVector("unknown distance", { distance_type: "near" }, /near/),
  onVector("parts that do not divide the vector", { num_sub_vectors: 3 }, /num_sub_vectors/),
  onVector("bits that no code has", { num_bits: 99 }, /num_bits/),
  onVector("too few rows", { num_partitions: 1 }, /rows/),
  index(
    "CreateTableScalarIndex",
    "a vector index",
    { column: "vector", index_type: "IVF_FLAT" },
    errors.invalid,
    /create_index/,
  ),
  failure(
    "ListTableIndices",
    "unknown version",
    "/v1/table/ns$t/index/list",
    { version: 99 },
    errors.noVersion,
    /99/,
  ),
  failure(
    "ListTableIndices",
    "unknown branch",
    "/v1/table/ns$t/index/list",
    { branch: "no" },
    errors.noBranch,
    /no/,
  ),
  failure(
    "ListTableIndices",
    "a forged token",
    "/v1/table/ns$t/index/list",
    { page_token: "x" },
    errors.invalid,
    /page_token/,
  ),
  failure(
    "DescribeTableIndexStats",
    "no index",
    "/v1/table/ns$t/index/no/stats",
    {},
    errors.noIndex,
    /no/,
  ),
  failure(
    "DescribeTableIndexStats",
    "another name in the body",
    "/v1/table/ns$t/index/id_idx/stats",
    { index_name: "x" },
    errors.invalid,
    /index_name/,
  ),
  failure(
    "DescribeTableIndexStats",
    "unknown version",
    "/v1/table/ns$t/index/id_idx/stats",
    { version: 99 },
    errors.noVersion,
    /99/,
  ),
  failure(
    "DescribeTableIndexStats",
    "unknown branch",
    "/v1/table/ns$t/index/id_idx/stats",
    { branch: "no" },
    errors.noBranch,
    /no/,
  ),
  failure("DropTableIndex", "no index", "/v1/table/ns$t/index/no/drop", {}, errors.noIndex, /no/),
  failure(
    "DropTableIndex",
    "unknown branch",
    "/v1/table/ns$t/index/id_idx/drop?branch=no",
    {},
    errors.noBranch,
    /no/,
  ),
];
