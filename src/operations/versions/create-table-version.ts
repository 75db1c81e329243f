import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { nothing, transactionId } from "../../api/schemas.js";
import { newVersion, publishVersion } from "./publish-version.js";
import { tableVersion, versionEntry } from "./version-entry.js";

export const createTableVersion = operation({
  id: "CreateTableVersion",
  methods: ["POST"],
  path: "/v1/table/{id}/version/create",
  summary:
    "Create a version from a manifest that the client has written, unless the version exists",
  tag: "Version",
  params: nothing,
  body: { kind: "json", schema: Type.Object(newVersion) },
  reply: Type.Object({ transaction_id: transactionId, version: tableVersion }),
  access: accessTo("table", "insert", "update", "delete"),
  limited: ["storage"],
  uses: ["catalog", "config", "engine", "maintenance"],
  async handle(services, { id, payload }) {
    const version = await publishVersion(services, { ...payload, id });
    return { kind: "json", value: { version: versionEntry(version) } };
  },
});
