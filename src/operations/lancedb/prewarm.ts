import { Type } from "@sinclair/typebox";
import { ErrorCode, JoustError } from "../../errors.js";
import type { Services } from "../../services.js";
import { onTable } from "../open-table.js";
import { operation } from "../operation.js";
import { branch, nothing } from "../schemas.js";
import { branchName, onBranch } from "../target.js";

const prewarmIndex = operation({
  id: "PrewarmTableIndex",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/v1/table/{id}/index/{index_name}/prewarm/",
  summary: "Begin to load an index into memory, as far as it fits there",
  tag: "Index",
  params: Type.Object({ branch }),
  body: { kind: "json", schema: nothing },
  reply: Type.Object({}),
  permission: "read",
  handle: (services, { id, path, params }) =>
    onTable(services, id, async ({ record, table }) => {
      const name = path.index_name ?? "";
      const target = onBranch(table, params.branch);
      // Code 6 while somebody waits for the answer.
      await target.indexStats(name);
      const key = JSON.stringify([record.key, branchName(params.branch), "index", name]);
      inTurn(services, key, () => target.prewarmIndex(name));
      return { kind: "json", value: {} };
    }),
});

const prewarmPageCache = operation({
  id: "PrewarmTablePageCache",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/v1/table/{id}/page_cache/prewarm/",
  summary: "Begin to read columns ahead of their use",
  tag: "Table",
  params: Type.Object({ branch }),
  body: {
    kind: "json",
    schema: Type.Object({
      branch,
      columns: Type.Optional(Type.Array(Type.String(), { description: "none: all of them" })),
    }),
  },
  reply: Type.Object({}),
  permission: "read",
  handle: (services, { id, params, payload }) =>
    onTable(services, id, async ({ record, table }) => {
      const branch = branchName(payload.branch ?? params.branch);
      const target = onBranch(table, branch);
      const columns = await target.resolveColumns(payload.columns ?? []);
      const key = JSON.stringify([record.key, branch, "columns", [...columns].sort()]);
      inTurn(services, key, () => target.prewarmColumns(columns));
      return { kind: "json", value: {} };
    }),
});

/** Requests that may wait for their turn. */
const MAX_WAITING = 256;

const waiting = new Set<string>();
let last: Promise<void> = Promise.resolve();

/** Reads one thing at a time, so that prewarming leaves room for queries; what waits already is not read twice. */
function inTurn({ log }: Services, key: string, work: () => Promise<void>): void {
  if (waiting.has(key)) return;
  if (waiting.size >= MAX_WAITING) {
    throw new JoustError(ErrorCode.Throttling, "too much waits to be prewarmed: try again later");
  }
  last = last
    .then(work)
    // The table may have been dropped meanwhile.
    .catch((err: unknown) => log.info({ err }, "prewarming ended early"))
    .finally(() => waiting.delete(key));
  waiting.add(key);
}

export const prewarming = [prewarmIndex, prewarmPageCache];
