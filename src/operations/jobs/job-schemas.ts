import { Type } from "@sinclair/typebox";
import { nothing } from "../../api/schemas.js";

export const one = Type.Object({ job_id: Type.String({ minLength: 1 }) });

export const millis = Type.Integer({ minimum: 0 });

export const shared = { methods: ["POST"], tag: "Job", params: nothing } as const;

export const onOne = { ...shared, body: { kind: "json", schema: one } } as const;

/** What a job changes is recorded under the request that began it. */
export const control = { ...onOne, permission: "admin", unrecorded: true } as const;

export const jobState = Type.String({
  description: "QUEUED, PAUSED, IN_PROGRESS, DONE, FAILED, CANCELLED",
});
