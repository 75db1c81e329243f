import { Type } from "@sinclair/typebox";
import { idBelow } from "../../api/database.js";
import { type Call, operation } from "../../api/operation.js";
import { nothing } from "../../api/schemas.js";
import type { Services } from "../../api/services.js";
import type { NamedTable, ViewSource } from "../../engine/index.js";
import { onTable, storageOptions } from "../../tables/open-table.js";
import { checkSources } from "./visible-sources.js";

export const describeMaterializedView = operation({
  id: "DescribeMaterializedView",
  methods: ["POST"],
  path: "/v1/materialized_view/{id}/describe",
  summary:
    "Describe a view: its query, the tables that it reads, how its next refresh works, and how far it is behind",
  tag: "View",
  params: nothing,
  body: { kind: "json", schema: nothing },
  reply: Type.Object({
    kind: Type.Union([Type.Literal("query"), Type.Literal("chunker")]),
    query: Type.String(),
    udtf_name: Type.Optional(
      Type.String({ description: "the Python function that makes the rows of a chunker" }),
    ),
    source_table: Type.String({ description: "the first table" }),
    source_namespace: Type.Array(Type.String()),
    tables: Type.Array(Type.Array(Type.String())),
    refresh_mode: Type.Union([Type.Literal("incremental"), Type.Literal("full")], {
      description:
        "incremental: the next refresh computes only the rows that come from changed rows; full: all rows",
    }),
    full_because: Type.Optional(
      Type.String({ description: "why the next refresh computes all rows" }),
    ),
    refreshed_at: Type.Optional(
      Type.String({ description: "when the last refresh was committed; absent: not known" }),
    ),
    source_versions: Type.Array(
      Type.Object({
        refreshed: Type.Optional(
          Type.Integer({ description: "version of the last refresh; absent: not known" }),
        ),
        newest: Type.Integer(),
      }),
      { description: "versions of the tables, in the order of `tables`" },
    ),
  }),
  access: {
    on: "table",
    privileges: ["select"],
    // The query names the tables that it reads.
    also: async (call: Call<unknown, unknown>, services) => {
      await checkSources(services, call.id);
      return [];
    },
  },
  limited: ["query"],
  contentNames: {
    reply: ({ source_namespace, tables, ...rest }, database) => ({
      ...rest,
      source_namespace: idBelow(database, source_namespace),
      tables: tables.map((id: string[]) => idBelow(database, id)),
    }),
  },
  uses: ["catalog", "config", "engine"],
  handle: (services, { id, timeLeftMs }) =>
    onTable(services, id, async ({ table }) => {
      const { sql, tables, function: expands } = await table.view();
      const [source = []] = tables.map(({ table }) => table);
      const sources = await Promise.all(tables.map((named) => sourceOf(services, named)));
      const status = await table.viewStatus(sources, timeLeftMs);
      return {
        kind: "json",
        value: {
          kind: expands ? "chunker" : "query",
          query: sql,
          ...(expands && { udtf_name: expands.name }),
          source_table: source.at(-1) ?? "",
          source_namespace: source.slice(0, -1),
          tables: tables.map(({ table }) => table),
          ...(status.fullBecause === undefined
            ? { refresh_mode: "incremental" }
            : { refresh_mode: "full", full_because: status.fullBecause }),
          ...(status.refreshedMillis !== undefined && {
            refreshed_at: new Date(status.refreshedMillis).toISOString(),
          }),
          source_versions: status.sources.map(({ refreshedVersion, newestVersion }) => ({
            ...(refreshedVersion !== undefined && { refreshed: refreshedVersion }),
            newest: newestVersion,
          })),
        },
      };
    }),
});

/** @throws code 4 if the table does not exist any more */
const sourceOf = (
  services: Pick<Services, "catalog" | "config" | "engine">,
  named: NamedTable,
): Promise<ViewSource> =>
  onTable(services, named.table, async ({ record }) => ({
    ...named,
    location: record.location,
    storageOptions: storageOptions(services, record),
  }));
