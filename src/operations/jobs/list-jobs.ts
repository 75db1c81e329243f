import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { idBelow } from "../../api/database.js";
import { operation } from "../../api/operation.js";
import { nextPageToken, readPageRequest } from "../../api/paging.js";
import { nextPage, page } from "../../api/schemas.js";
import { jobOperation, jobState, millis } from "./job-schemas.js";
import { reportedState } from "./job-state.js";

export const listJobs = operation({
  ...jobOperation,
  id: "ListJobs",
  path: "/v1/jobs/list",
  summary: "List the jobs of all tables, newest first",
  body: { kind: "json", schema: page },
  reply: Type.Object({
    jobs: Type.Array(
      Type.Object({
        job_id: Type.String(),
        table: Type.String(),
        job_type: Type.String(),
        state: jobState,
        created_at_millis: millis,
        error: Type.Optional(Type.String({ description: "why the job failed" })),
      }),
    ),
    page_token: nextPage,
  }),
  access: accessTo("nothing"),
  uses: ["jobs"],
  async handle({ jobs }, { database, payload }) {
    const { items, pageToken } = await jobs.listAll(readPageRequest({}, payload));
    const entries = items.map(({ job, table }) => ({
      job_id: job.id,
      table: idBelow(database, table).join("$"),
      job_type: job.kind,
      state: reportedState(job),
      created_at_millis: job.createdMillis,
      ...(job.error && { error: job.error.message }),
    }));
    return { kind: "json", value: { jobs: entries, ...nextPageToken(pageToken) } };
  },
});
