import { type Case, errors, failure } from "../case.js";

const refCase =
  (kind: "tags" | "branches") =>
  (
    operation: string,
    verb: string,
    why: string,
    body: object,
    error: readonly [number, number],
    detail: RegExp,
  ): Case =>
    failure(operation, why, `/v1/table/ns$t/${kind}/${verb}`, body, error, detail);
const tag = refCase("tags");
const branch = refCase("branches");

/** Tags and branches. */
export const refs: Case[] = [
  tag("GetTableTagVersion", "version", "no tag", { tag: "no" }, errors.noTag, /no/),
  tag(
    "CreateTableTag",
    "create",
    "it exists",
    { tag: "first", version: 1 },
    errors.tagExists,
    /first/,
  ),
  tag(
    "CreateTableTag",
    "create",
    "unknown version",
    { tag: "x", version: 99 },
    errors.noVersion,
    /99/,
  ),
  tag(
    "CreateTableTag",
    "create",
    "unknown branch",
    { tag: "x", version: 1, branch: "no" },
    errors.noBranch,
    /no/,
  ),
  tag(
    "CreateTableTag",
    "create",
    "a name that leads out",
    { tag: "../x", version: 1 },
    errors.invalid,
    /name|tag/,
  ),
  tag("UpdateTableTag", "update", "no tag", { tag: "no", version: 1 }, errors.noTag, /no/),
  tag(
    "UpdateTableTag",
    "update",
    "unknown version",
    { tag: "first", version: 99 },
    errors.noVersion,
    /99/,
  ),
  tag(
    "UpdateTableTag",
    "update",
    "unknown branch",
    { tag: "first", version: 1, branch: "no" },
    errors.noBranch,
    /no/,
  ),
  tag("DeleteTableTag", "delete", "no tag", { tag: "no" }, errors.noTag, /no/),
  tag("ListTableTags", "list", "a forged token", { page_token: "x" }, errors.invalid, /page_token/),
  branch("CreateTableBranch", "create", "it exists", { name: "dev" }, errors.branchExists, /dev/),
  branch(
    "CreateTableBranch",
    "create",
    "unknown version",
    { name: "x", from_version: 99 },
    errors.noVersion,
    /99/,
  ),
  branch(
    "CreateTableBranch",
    "create",
    "unknown branch",
    { name: "x", from_branch: "no" },
    errors.noBranch,
    /no/,
  ),
  branch(
    "CreateTableBranch",
    "create",
    "a name that leads out",
    { name: "../x" },
    errors.invalid,
    /name|branch/,
  ),
  branch("CreateTableBranch", "create", "the main one", { name: "main" }, errors.invalid, /main/),
  branch("DeleteTableBranch", "delete", "no branch", { name: "no" }, errors.noBranch, /no/),
  branch("DeleteTableBranch", "delete", "the main one", { name: "main" }, errors.invalid, /main/),
  branch(
    "ListTableBranches",
    "list",
    "a forged token",
    { page_token: "x" },
    errors.invalid,
    /page_token/,
  ),
];
