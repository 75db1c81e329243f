import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { control, jobState } from "./job-schemas.js";
import { stateOf } from "./job-state.js";

export const cancelJob = operation({
  ...control,
  id: "CancelJob",
  path: "/v1/jobs/cancel",
  summary: "Cancel a job; one that has ended stays as it is",
  reply: Type.Object({ job_id: Type.String(), job_state: jobState }),
  uses: ["jobs"],
  async handle({ jobs }, { payload }) {
    const job = await jobs.cancel(payload.job_id);
    return { kind: "json", value: { job_id: job.id, job_state: stateOf(job) } };
  },
});
