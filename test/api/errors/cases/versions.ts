import { type Case, errors, failure } from "../case.js";
import type { Fixture } from "../fixture.js";

const create = (
  why: string,
  members: object,
  error: readonly [number, number],
  detail: RegExp,
): Case[] => {
  const entry = { version: 2, ...members };
  const steps = [{ create_table_version: { id: ["ns", "t"], ...entry } }];
  return [
    failure("CreateTableVersion", why, "/v1/table/ns$t/version/create", entry, error, detail),
    failure(
      "BatchCreateTableVersions",
      why,
      "/v1/table/version/batch-create",
      { entries: [{ id: ["ns", "t"], ...entry }] },
      error,
      detail,
    ),
    failure(
      "BatchCommitTables",
      why,
      "/v1/table/batch-commit",
      { operations: steps },
      error,
      detail,
    ),
  ];
};

const remove = (
  why: string,
  start: number,
  end: number,
  error: readonly [number, number],
  detail: RegExp,
): Case =>
  failure(
    "BatchDeleteTableVersions",
    why,
    "/v1/table/ns$t/version/delete",
    { ranges: [{ start_version: start, end_version: end }] },
    error,
    detail,
  );

export const versions = ({ staged, location }: Fixture): Case[] => [
  ...create("the version exists with other bytes", { manifest_path: staged }, errors.conflict, /2/),
  ...create(
    "nothing is there",
    { version: 9, manifest_path: `${location}/_versions/no` },
    errors.invalid,
    /manifest/,
  ),
  ...create(
    "a manifest outside of the table",
    { manifest_path: "/etc/passwd" },
    errors.invalid,
    /manifest_path|table/,
  ),
  ...create(
    "a manifest that leads out",
    { manifest_path: `${location}/../x` },
    errors.invalid,
    /manifest_path|table/,
  ),
  ...create(
    "another size",
    { version: 9, manifest_path: staged, manifest_size: 1 },
    errors.invalid,
    /manifest_size/,
  ),
  ...create(
    "unknown scheme",
    { manifest_path: staged, naming_scheme: "V3" },
    errors.invalid,
    /naming_scheme/,
  ),
  ...create("unknown branch", { manifest_path: staged, branch: "no" }, errors.noBranch, /no/),
  failure(
    "BatchCreateTableVersions",
    "no table",
    "/v1/table/version/batch-create",
    { entries: [{ id: ["ns", "no"], version: 2, manifest_path: staged }] },
    errors.noTable,
    /no/,
  ),
  failure(
    "BatchCreateTableVersions",
    "one version twice",
    "/v1/table/version/batch-create",
    { entries: [1, 2].map(() => ({ id: ["ns", "t"], version: 9, manifest_path: staged })) },
    errors.invalid,
    /twice/,
  ),
  failure(
    "DescribeTableVersion",
    "unknown version",
    "/v1/table/ns$t/version/describe",
    { version: 99 },
    errors.noVersion,
    /99/,
  ),
  failure(
    "DescribeTableVersion",
    "unknown branch",
    "/v1/table/ns$t/version/describe",
    { version: 1, branch: "no" },
    errors.noBranch,
    /no/,
  ),
  failure(
    "ListTableVersions",
    "unknown branch",
    "/v1/table/ns$t/version/list",
    { branch: "no" },
    errors.noBranch,
    /no/,
  ),
  failure(
    "ListTableVersions",
    "a forged token",
    "/v1/table/ns$t/version/list",
    { page_token: "x" },
    errors.invalid,
    /page_token/,
  ),
  remove("the newest version", 0, -1, errors.state, /newest|latest/),
  remove("a version that a tag names", 1, 2, errors.state, /tag/),
  remove("a range that ends before it starts", 3, 1, errors.invalid, /end_version|range|start/),
  failure(
    "BatchDeleteTableVersions",
    "unknown branch",
    "/v1/table/ns$t/version/delete",
    { ranges: [{ start_version: 0, end_version: 1 }], branch: "no" },
    errors.noBranch,
    /no/,
  ),
];
