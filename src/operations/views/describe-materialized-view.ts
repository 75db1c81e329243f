import { Type } from "@sinclair/typebox";
import { idBelow } from "../../api/database.js";
import { type Call, operation } from "../../api/operation.js";
import { nothing } from "../../api/schemas.js";
import { onTable } from "../../tables/open-table.js";
import { checkSources } from "./visible-sources.js";

export const describeMaterializedView = operation({
  id: "DescribeMaterializedView",
  methods: ["POST"],
  path: "/v1/materialized_view/{id}/describe",
  summary: "Describe a view: its query and the tables that it reads",
  tag: "View",
  params: nothing,
  body: { kind: "json", schema: nothing },
  reply: Type.Object({
    query: Type.String(),
    source_table: Type.String({ description: "the first table" }),
    source_namespace: Type.Array(Type.String()),
    tables: Type.Array(Type.Array(Type.String())),
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
  contentNames: {
    reply: ({ source_namespace, tables, ...rest }, database) => ({
      ...rest,
      source_namespace: idBelow(database, source_namespace),
      tables: tables.map((id: string[]) => idBelow(database, id)),
    }),
  },
  uses: ["catalog", "config", "engine"],
  handle: (services, { id }) =>
    onTable(services, id, async ({ table }) => {
      const { sql, tables } = await table.view();
      const [source = []] = tables.map(({ table }) => table);
      return {
        kind: "json",
        value: {
          query: sql,
          source_table: source.at(-1) ?? "",
          source_namespace: source.slice(0, -1),
          tables: tables.map(({ table }) => table),
        },
      };
    }),
});
