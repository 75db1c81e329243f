import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { jobControl } from "./job-schemas.js";
import { hasEnded } from "./job-state.js";

export const pauseJob = operation({
  ...jobControl,
  id: "PauseJob",
  path: "/v1/jobs/pause",
  summary: "Pause a job; a resumed job starts from the beginning",
  reply: Type.Object({ paused: Type.Boolean(), committing: Type.Boolean() }),
  uses: ["jobs"],
  async handle({ jobs }, { payload }) {
    const job = await jobs.pause(payload.job_id);
    // Every stage of a job can be stopped; what the job has committed remains.
    return { kind: "json", value: { paused: job.paused && !hasEnded(job), committing: false } };
  },
});
