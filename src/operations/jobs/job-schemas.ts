import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { nothing } from "../../api/schemas.js";

export const jobReference = Type.Object({ job_id: Type.String({ minLength: 1 }) });

export const millis = Type.Integer({ minimum: 0 });

/** Members of every operation on jobs. */
export const jobOperation = { methods: ["POST"], tag: "Job", params: nothing } as const;

/** Members of the operations that change a job. The transaction record belongs to the request that enqueued the job. */
export const jobControl = {
  ...jobOperation,
  body: { kind: "json", schema: jobReference },
  access: accessTo("job table", "manage"),
  unrecorded: true,
} as const;

export const jobState = Type.String({
  description: "QUEUED, PAUSED, IN_PROGRESS, DONE, FAILED, CANCELLED",
});
