import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { control } from "./job-schemas.js";
import { hasEnded } from "./job-state.js";

export const pauseJob = operation({
  ...control,
  id: "PauseJob",
  path: "/v1/jobs/pause",
  summary: "Stop a job until it is resumed, when it begins anew",
  reply: Type.Object({ paused: Type.Boolean(), committing: Type.Boolean() }),
  uses: ["jobs"],
  async handle({ jobs }, { payload }) {
    const job = await jobs.pause(payload.job_id);
    // What a job has committed is committed: there is no stage that could not be stopped.
    return { kind: "json", value: { paused: job.paused && !hasEnded(job), committing: false } };
  },
});
