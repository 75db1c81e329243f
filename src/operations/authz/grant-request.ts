import { Type } from "@sinclair/typebox";
import { nothing } from "../../api/schemas.js";

/** Members of the operations that add or delete a grant. */
export const grantRequest = {
  dialect: "lancedb",
  methods: ["POST"],
  tag: "Authorization",
  params: nothing,
  body: {
    kind: "json",
    schema: Type.Object({
      subject: Type.String(),
      object: Type.String(),
      privilege: Type.String(),
    }),
  },
  reply: Type.Object({}),
  unrecorded: true,
} as const;
