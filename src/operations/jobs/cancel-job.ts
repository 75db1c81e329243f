import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { jobControl, jobState } from "./job-schemas.js";
import { reportedState } from "./job-state.js";

export const cancelJob = operation({
  ...jobControl,
  id: "CancelJob",
  path: "/v1/jobs/cancel",
  summary: "Cancel a job unless it has ended",
  reply: Type.Object({ job_id: Type.String(), job_state: jobState }),
  uses: ["jobs"],
  async handle({ jobs }, { payload }) {
    const job = await jobs.cancel(payload.job_id);
    return { kind: "json", value: { job_id: job.id, job_state: reportedState(job) } };
  },
});
