import { type Static, Type } from "@sinclair/typebox";
import { nothing } from "../../api/schemas.js";
import type { Services } from "../../api/services.js";
import { auditedGrant } from "./audited-grant.js";

const schema = Type.Object({ subject: Type.String(), role: Type.String() });

/** Members of the operations that add or delete a binding. */
export const bindingRequest = {
  dialect: "lancedb",
  methods: ["POST"],
  tag: "Authorization",
  params: nothing,
  body: { kind: "json", schema },
  reply: Type.Object({}),
  unrecorded: true,
  audited: (payload: Static<typeof schema>, { grants }: Pick<Services, "grants">) =>
    auditedGrant(grants, { ...payload, object: "system" }),
  uses: ["grants"],
} as const;
