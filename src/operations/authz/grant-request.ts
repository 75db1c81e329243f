import { Type } from "@sinclair/typebox";
import { nothing } from "../../api/schemas.js";

/** The body of the operations that add or delete a grant. */
export const grantBody = Type.Object({
  subject: Type.String(),
  object: Type.String(),
  privilege: Type.String(),
});

/** Members of these operations. */
export const grantRequest = {
  dialect: "lancedb",
  methods: ["POST"],
  tag: "Authorization",
  params: nothing,
  reply: Type.Object({}),
  unrecorded: true,
} as const;
