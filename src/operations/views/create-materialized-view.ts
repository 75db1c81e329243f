import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { count, nothing } from "../../api/schemas.js";
import type { Services } from "../../api/services.js";
import { timeoutOf } from "../../api/time-left.js";
import type { TableRecord } from "../../catalog/catalog.js";
import { checkTableId } from "../../catalog/names.js";
import type { ViewSource } from "../../engine/index.js";
import { type NameScope, onNamedTable } from "../../tables/named-table.js";
import { storageOptions, tableHandle } from "../../tables/open-table.js";
import { versionHeader } from "../../tables/target.js";
import { discardTable } from "../tables/new-table.js";
import { enqueueRefresh } from "./view-refresh.js";
import { readViewRequest, type ViewDefinition, viewRequest } from "./view-request.js";

export const createMaterializedView = operation({
  id: "CreateMaterializedView",
  methods: ["POST"],
  path: "/v1/materialized_view/{id}/create",
  summary:
    "Create a table whose rows are the result of a query, or made of it by a Python function, and optionally fill it",
  tag: "View",
  params: nothing,
  body: { kind: "json", schema: viewRequest },
  reply: Type.Object({ version: count, job_id: Type.Optional(Type.String()) }),
  status: 201,
  access: accessTo("new table", "create"),
  limited: ["job", "storage"],
  administrative: {
    to: "store a function (udtf_spec) that the server runs",
    includes: ({ payload }) => payload.udtf_spec != null,
  },
  uses: ["catalog", "config", "engine", "jobs", "log", "maintenance"],
  async handle(services, { id, callerId, database, payload, timeLeftMs }) {
    // First: an invalid name is an error whether or not the source tables exist.
    checkTableId(id);
    const definition = readViewRequest(payload);
    const sources = await resolveSources(services, definition.sql, {
      database,
      namespace: id.slice(0, -1),
    });
    const { record, version } = await createView(services, { id, creator: callerId }, definition, {
      sources,
      ...timeoutOf({ timeLeftMs }),
    });
    const keys = sources.map(({ key }) => key);
    if (!definition.withData) {
      await services.maintenance.viewDeclared(record.key, keys);
      return { kind: "json", status: 201, value: { version }, headers: versionHeader(version) };
    }
    const job = await enqueueRefresh(services, record.key, {});
    await services.maintenance.viewDeclared(record.key, keys, job.id);
    return {
      kind: "json",
      status: definition.sdk ? 202 : 201,
      value: { version, job_id: job.id },
      headers: versionHeader(version),
    };
  },
});

interface KeyedSource extends ViewSource {
  readonly key: string;
}

/** The tables that a query names. @throws code 1 or 4 if one does not exist */
async function resolveSources(
  services: Pick<Services, "catalog" | "config" | "engine">,
  sql: string,
  scope: NameScope,
): Promise<KeyedSource[]> {
  const names = await services.engine.viewTables(sql);
  return Promise.all(
    names.map((name) =>
      onNamedTable(services, name, scope, async ({ record }) => ({
        key: record.key,
        name,
        table: record.id,
        location: record.location,
        storageOptions: storageOptions(services, record),
      })),
    ),
  );
}

/** As for a table: reserves the name, writes the view, activates it. */
async function createView(
  services: Pick<Services, "catalog" | "config" | "engine" | "log">,
  { id, creator }: { id: readonly string[]; creator: string },
  { sql, schema, function: expands, autoRefresh }: ViewDefinition,
  planning: { sources: ViewSource[]; timeoutMs?: number },
): Promise<{ record: TableRecord; version: number }> {
  const record = await services.catalog.reserveTable(id, {
    properties: {},
    storageOptions: {},
    creator,
  });
  try {
    const version = await tableHandle(services, record).createView({
      sql,
      ...planning,
      ...(schema && { schema }),
      ...(expands && { function: expands }),
      ...(autoRefresh && { autoRefresh }),
    });
    await services.catalog.activateTable(record.key);
    return { record, version };
  } catch (error) {
    await discardTable(services, record, error);
    throw error;
  }
}
