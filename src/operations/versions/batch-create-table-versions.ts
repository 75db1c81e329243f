import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { inDatabase } from "../../api/database.js";
import { operation } from "../../api/operation.js";
import { delimiter, transactionId } from "../../api/schemas.js";
import { tableObject } from "../../catalog/grants/grants.js";
import { newVersion, publishVersions } from "./publish-version.js";
import { tableVersion, versionEntry } from "./version-entry.js";

export const batchCreateTableVersions = operation({
  id: "BatchCreateTableVersions",
  methods: ["POST"],
  path: "/v1/table/version/batch-create",
  summary: "Create versions of several tables, all or none",
  tag: "Version",
  params: Type.Object({ delimiter }),
  body: {
    kind: "json",
    schema: Type.Object({
      entries: Type.Array(
        Type.Object({ id: Type.Array(Type.String(), { minItems: 1 }), ...newVersion }),
        { minItems: 1 },
      ),
    }),
  },
  reply: Type.Object({ transaction_id: transactionId, versions: Type.Array(tableVersion) }),
  access: {
    ...accessTo("body"),
    sometimes: ["insert", "update", "delete"],
    also: ({ payload }) =>
      payload.entries.map(({ id }) => ({
        object: tableObject(id),
        privileges: ["insert", "update", "delete"],
      })),
  },
  contentNames: {
    body: ({ entries, ...rest }, database) => ({
      ...rest,
      entries: entries.map((entry: { id: string[] }) => inDatabase(entry, database)),
    }),
  },
  limited: ["storage"],
  storedTables: ({ payload }) => payload.entries,
  uses: ["catalog", "config", "engine", "log", "maintenance"],
  async handle(services, { payload }) {
    const { published } = await publishVersions(services, payload.entries, async () => {});
    return { kind: "json", value: { versions: published.map(versionEntry) } };
  },
});
