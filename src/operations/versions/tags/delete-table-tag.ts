import { Type } from "@sinclair/typebox";
import { accessTo } from "../../../api/access.js";
import { operation } from "../../../api/operation.js";
import { nothing, transactionId } from "../../../api/schemas.js";
import { changingReferences } from "../../../tables/table-writes.js";
import { tag } from "./tag-schemas.js";

export const deleteTableTag = operation({
  id: "DeleteTableTag",
  methods: ["POST"],
  path: "/v1/table/{id}/tags/delete",
  summary: "Delete a tag; its version remains",
  tag: "Tag",
  params: nothing,
  body: { kind: "json", schema: Type.Object({ tag }) },
  reply: Type.Object({ transaction_id: transactionId }),
  access: accessTo("table", "drop"),
  uses: ["catalog", "config", "engine", "maintenance"],
  async handle(services, { id, payload }) {
    await changingReferences(services, id, ({ table }) => table.deleteTag(payload.tag));
    return { kind: "json", value: {} };
  },
});
