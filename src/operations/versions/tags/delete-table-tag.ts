import { Type } from "@sinclair/typebox";
import { accessTo } from "../../../api/access.js";
import { operation } from "../../../api/operation.js";
import { nothing, transactionId } from "../../../api/schemas.js";
import { ErrorCode, JoustError } from "../../../foundation/errors.js";
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
    await changingReferences(services, id, async ({ record, table }) => {
      if (await services.catalog.hasClones(record.location, payload.tag)) {
        throw cloneNeedsTag(payload.tag);
      }
      await table.deleteTag(payload.tag);
    });
    return { kind: "json", value: {} };
  },
});

const cloneNeedsTag = (tag: string): JoustError =>
  new JoustError(
    ErrorCode.InvalidTableState,
    `the tag ${JSON.stringify(tag)} keeps files that a clone of the table reads: drop the clone, which removes the tag`,
  );
