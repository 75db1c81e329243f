import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { ErrorCode, JoustError } from "../../foundation/errors.js";
import { jobEvents } from "./job-events.js";
import { one, shared } from "./job-schemas.js";

export const queryJobEvents = operation({
  ...shared,
  id: "QueryJobEvents",
  path: "/v1/jobs/query_events",
  summary: "What is known of a job's course, as an Arrow IPC stream",
  body: {
    kind: "json",
    schema: Type.Composite([
      one,
      Type.Object({
        limit: Type.Optional(Type.Integer({ minimum: 1 })),
        filter: Type.Optional(Type.String({ description: "not supported: leave it out" })),
      }),
    ]),
  },
  permission: "read",
  uses: ["jobs"],
  async handle({ jobs }, { payload }) {
    if (payload.filter !== undefined && payload.filter !== "") {
      throw new JoustError(
        ErrorCode.Unsupported,
        "events cannot be filtered by this server: leave `filter` out",
      );
    }
    return jobEvents(await jobs.describe(payload.job_id), payload.limit);
  },
});
