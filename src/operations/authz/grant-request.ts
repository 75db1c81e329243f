import { type Static, Type } from "@sinclair/typebox";
import { nothing } from "../../api/schemas.js";
import type { Services } from "../../api/services.js";
import { auditedGrant } from "./audited-grant.js";

const schema = Type.Object({
  subject: Type.String(),
  object: Type.String(),
  privilege: Type.String(),
});

/** Members of the operations that add or delete a grant. */
export const grantRequest = {
  dialect: "lancedb",
  methods: ["POST"],
  tag: "Authorization",
  params: nothing,
  body: { kind: "json", schema },
  reply: Type.Object({}),
  unrecorded: true,
  audited: (payload: Static<typeof schema>, { grants }: Pick<Services, "grants">) =>
    auditedGrant(grants, payload),
} as const;
