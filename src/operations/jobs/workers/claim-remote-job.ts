import { Type } from "@sinclair/typebox";
import { operation } from "../../../api/operation.js";
import { mapOf } from "../../../api/schemas.js";
import { workerBody, workerOperation, workersOf } from "./worker-request.js";

export const claimRemoteJob = operation({
  ...workerOperation,
  id: "ClaimRemoteJob",
  path: "/v1/jobs/worker/claim",
  summary: "Begin to work for a job: replaces its token",
  body: workerBody({
    versions: mapOf(Type.String()),
    replacement: Type.String({ description: "a new key, which replaces the token" }),
  }),
  reply: Type.Object({}),
  async handle(services, { payload: { job_id, token, versions, replacement } }) {
    await workersOf(services).claim(job_id, token, { versions, replacement });
    return { kind: "json", value: {} };
  },
});
