import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { jobControl } from "./job-schemas.js";
import { hasEnded } from "./job-state.js";

export const resumeJob = operation({
  ...jobControl,
  id: "ResumeJob",
  path: "/v1/jobs/resume",
  summary: "Put a paused job back into the queue",
  reply: Type.Object({ resumed: Type.Boolean(), still_pausing: Type.Boolean() }),
  uses: ["jobs"],
  async handle({ jobs }, { payload }) {
    const job = await jobs.resume(payload.job_id);
    return { kind: "json", value: { resumed: !hasEnded(job), still_pausing: false } };
  },
});
