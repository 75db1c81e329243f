import { Type } from "@sinclair/typebox";
import { operation } from "../../../api/operation.js";
import { workerBody, workerOperation, workersOf } from "./worker-request.js";

const task = { key: Type.String({ description: "as in the order" }) };

export const reportRemoteWork = operation({
  ...workerOperation,
  id: "ReportRemoteWork",
  path: "/v1/jobs/worker/report",
  summary: "Report the progress, the result or the failure of workers of a job",
  body: workerBody({
    progress: Type.Optional(Type.Object({ ...task, units: Type.Integer({ minimum: 0 }) })),
    part: Type.Optional(Type.Object({ ...task, result: Type.Object({}) })),
    failure: Type.Optional(Type.String()),
  }),
  reply: Type.Object({ wanted: Type.Boolean({ description: "the result is needed" }) }),
  async handle(services, { payload }) {
    const { job_id, token, progress, part, failure } = payload;
    const workers = workersOf(services);
    let wanted = true;
    if (progress) wanted = await workers.progress(job_id, token, progress);
    if (part) wanted = await workers.deliver(job_id, token, part);
    if (failure !== undefined) await workers.fail(job_id, token, failure);
    return { kind: "json", value: { wanted } };
  },
});
