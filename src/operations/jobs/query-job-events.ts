import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { ErrorCode, JoustError } from "../../foundation/errors.js";
import { jobEvents } from "./job-events.js";
import { jobOperation, jobReference } from "./job-schemas.js";

export const queryJobEvents = operation({
  ...jobOperation,
  id: "QueryJobEvents",
  path: "/v1/jobs/query_events",
  summary: "List the events of a job as an Arrow IPC stream",
  body: {
    kind: "json",
    schema: Type.Composite([
      jobReference,
      Type.Object({
        limit: Type.Optional(Type.Integer({ minimum: 1 })),
        filter: Type.Optional(Type.String({ description: "not supported: leave it out" })),
      }),
    ]),
  },
  access: accessTo("job table"),
  uses: ["jobs"],
  async handle({ jobs }, { payload }) {
    if (payload.filter !== undefined && payload.filter !== "") {
      throw new JoustError(
        ErrorCode.Unsupported,
        "this server does not filter events: leave `filter` out",
      );
    }
    return jobEvents(await jobs.describe(payload.job_id), payload.limit);
  },
});
