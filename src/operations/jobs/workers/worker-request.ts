/** What the requests of workers of a job have in common. They are not part of the public interface. */
import { type TProperties, Type } from "@sinclair/typebox";
import { accessTo } from "../../../api/access.js";
import { nothing } from "../../../api/schemas.js";
import type { Services } from "../../../api/services.js";
import { ErrorCode, JoustError } from "../../../foundation/errors.js";
import type { WorkerCalls } from "../../../jobs/ray/worker-calls.js";

/** The body of a request: the job, its token, and these members. */
export const workerBody = <P extends TProperties>(members: P) =>
  ({
    kind: "json",
    schema: Type.Object({
      job_id: Type.String({ minLength: 1 }),
      token: Type.String({ minLength: 1, description: "as in the header" }),
      ...members,
    }),
  }) as const;

/** Members of every operation of workers. The token decides, and not a role. */
export const workerOperation = {
  methods: ["POST"],
  tag: "Job",
  params: nothing,
  access: accessTo("nothing"),
  unrecorded: true,
  mainThreadOnly: true,
  uses: ["workerCalls"],
} as const;

/** @throws code 0 if this server runs no jobs on workers */
export function workersOf({ workerCalls }: Pick<Services, "workerCalls">): WorkerCalls {
  if (workerCalls) return workerCalls;
  throw new JoustError(
    ErrorCode.Unsupported,
    "this server runs all jobs itself: start it with --executor ray",
  );
}
