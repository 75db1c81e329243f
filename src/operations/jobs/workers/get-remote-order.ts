import { Type } from "@sinclair/typebox";
import { operation } from "../../../api/operation.js";
import { stringMap } from "../../../api/schemas.js";
import { workerBody, workerOperation, workersOf } from "./worker-request.js";

export const getRemoteOrder = operation({
  ...workerOperation,
  id: "GetRemoteOrder",
  path: "/v1/jobs/worker/order",
  summary: "Get the work that a job has for workers",
  body: workerBody({ known: Type.String({ description: "id of the order that they have" }) }),
  reply: Type.Object({
    order_id: Type.Optional(Type.String({ description: "absent: the job has no work now" })),
    order: Type.Optional(Type.Object({}, { description: "absent if it is the known one" })),
    storage_options: Type.Optional(stringMap),
  }),
  async handle(services, { payload: { job_id, token, known } }) {
    return { kind: "json", value: await workersOf(services).order(job_id, token, known) };
  },
});
