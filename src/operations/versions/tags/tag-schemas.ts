import { Type } from "@sinclair/typebox";
import { branch, count, nothing, transactionId } from "../../../api/schemas.js";

export const tag = Type.String({ minLength: 1, description: "name of the tag" });

/** Members of the operations that set the version of a tag. */
export const tagAssignment = {
  methods: ["POST"],
  tag: "Tag",
  params: nothing,
  body: { kind: "json", schema: Type.Object({ tag, version: count, branch }) },
  reply: Type.Object({ transaction_id: transactionId }),
} as const;
