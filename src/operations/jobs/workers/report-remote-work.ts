import { Type } from "@sinclair/typebox";
import { operation } from "../../../api/operation.js";
import { fragmentNumber, workerBody, workerOperation, workersOf } from "./worker-request.js";

const count = Type.Integer({ minimum: 0 });

const fragment = { fragment: fragmentNumber, key: Type.String() };

const tally = Type.Object({
  assigned: count,
  failed: count,
  changed: count,
  failures: Type.Array(
    Type.Object({ fragment: fragmentNumber, offset: count, message: Type.String() }),
  ),
});

export const reportRemoteWork = operation({
  ...workerOperation,
  id: "ReportRemoteWork",
  path: "/v1/jobs/worker/report",
  summary: "Report the progress, the result or the failure of workers of a job",
  body: workerBody({
    progress: Type.Optional(Type.Object({ ...fragment, rows: count })),
    part: Type.Optional(Type.Object({ ...fragment, file: Type.String(), tally })),
    failure: Type.Optional(Type.String()),
  }),
  reply: Type.Object({ wanted: Type.Boolean({ description: "the fragment is needed" }) }),
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
