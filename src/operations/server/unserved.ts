/**
 * Requests of LanceDB SDKs to other products than a table server. Each reply names the reason, with a status after which
 * no SDK retries (406, code 0).
 */
import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { type Operation, operation } from "../../api/operation.js";
import { nothing } from "../../api/schemas.js";
import { ErrorCode, JoustError } from "../../foundation/errors.js";

const object = (kind: string, calls: readonly string[]): string[] => [
  ...calls.map((call) => `POST /v1/${kind}/{id}/${call}`),
  `GET /v1/namespace/{id}/${kind}/list`,
];

const ofTable = (calls: readonly string[]): string[] =>
  calls.map((call) => `POST /v1/table/{id}/${call}/`);

/** Methods and paths by error message. */
const routes: Record<string, readonly string[]> = {
  "this server stores no secrets: set storage options when you start it": object("secret", [
    "create",
    "alter",
    "drop",
    "describe",
  ]),
  "this server runs no registered functions: declare a column with computed or virtual_column":
    object("function", ["create", "describe", "drop"]),
  "this server has no logical views: create a materialized view, or query the table": object(
    "view",
    ["create", "describe", "drop"],
  ),
  "this server has no real-time engine: a write is visible when its reply arrives": ofTable([
    "flush_rte",
    "compact_rte",
    "enable_rte",
    "disable_rte",
    "flush_lsm",
    "compact_lsm",
    "set_lsm_write_spec",
    "unset_lsm_write_spec",
  ]),
};

/** `PostV1SecretIdCreate` for `POST /v1/secret/{id}/create`. */
const pascalCase = (text: string): string =>
  text
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join("");

const refusals: Operation[] = Object.entries(routes).flatMap(([sentence, paths]) =>
  paths.map((route) => {
    const [method = "POST", path = ""] = route.split(" ");
    return operation({
      id: `Unserved${pascalCase(route)}`,
      dialect: "lancedb",
      methods: [method as "GET" | "POST"],
      path,
      summary: "Refuse a request to another product",
      tag: "Table",
      params: nothing,
      body: { kind: "none" },
      access: accessTo("nothing"),
      uses: [],
      handle() {
        throw new JoustError(ErrorCode.Unsupported, sentence);
      },
    });
  }),
);

/** The settings and statistics of a real-time engine are null, which is not an error. */
const nullReplies: Operation[] = Object.entries({
  get_rte_stats: "rte_stats",
  get_rte_spec: "rte_spec",
  get_lsm_stats: "lsm_stats",
  get_lsm_write_spec: "lsm_write_spec",
}).map(([call, member]) =>
  operation({
    id: pascalCase(call),
    dialect: "lancedb",
    methods: ["POST"],
    path: `/v1/table/{id}/${call}/`,
    summary: "Report that the table has no real-time engine",
    tag: "Table",
    params: nothing,
    body: { kind: "none" },
    reply: Type.Object({ [member]: Type.Null() }),
    access: accessTo("nothing"),
    uses: [],
    handle: () => ({ kind: "json", value: { [member]: null } }),
  }),
);

export const unserved: readonly Operation[] = [...refusals, ...nullReplies];
