import { type Static, Type } from "@sinclair/typebox";
import { nothing } from "../../api/schemas.js";
import type { Services } from "../../api/services.js";
import { auditedGrant } from "./audited-grant.js";

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
  audited: (
    payload: Static<typeof grantBody> & { filter?: string },
    { grants }: Pick<Services, "grants">,
  ) => auditedGrant(grants, payload),
} as const;
