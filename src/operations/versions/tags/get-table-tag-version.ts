import { Type } from "@sinclair/typebox";
import { accessTo } from "../../../api/access.js";
import { operation } from "../../../api/operation.js";
import { count, nothing } from "../../../api/schemas.js";
import { onTable } from "../../../tables/open-table.js";
import { versionHeader } from "../../../tables/target.js";
import { tag } from "./tag-schemas.js";

export const getTableTagVersion = operation({
  id: "GetTableTagVersion",
  methods: ["POST"],
  path: "/v1/table/{id}/tags/version",
  summary: "Get the version of a tag",
  tag: "Tag",
  params: nothing,
  body: { kind: "json", schema: Type.Object({ tag }) },
  reply: Type.Object({ version: count, branch: Type.Optional(Type.String()) }),
  access: accessTo("table"),
  uses: ["catalog", "config", "engine"],
  async handle(services, { id, payload }) {
    const { version, branch } = await onTable(services, id, ({ table }) => table.tag(payload.tag));
    return { kind: "json", value: { version, branch }, headers: versionHeader(version) };
  },
});
