import { type Case, errors, failure } from "../case.js";
import type { Fixture } from "../fixture.js";

/** Transactions and jobs. */
export const work = ({ transaction, job }: Fixture): Case[] => {
  const alter = (
    why: string,
    action: object,
    error: readonly [number, number],
    detail: RegExp,
  ): Case =>
    failure(
      "AlterTransaction",
      why,
      `/v1/transaction/${transaction}/alter`,
      { actions: [action] },
      error,
      detail,
    );
  const noJob = (operation: string, verb: string): Case =>
    failure(
      operation,
      "no job",
      `/v1/jobs/${verb}`,
      { job_id: "nobody" },
      errors.noTransaction,
      /nobody/,
    );
  return [
    alter(
      "it has ended",
      { setStatusAction: { status: "Canceled" } },
      errors.conflict,
      /Succeeded/,
    ),
    alter("unknown status", { setStatusAction: { status: "Done" } }, errors.invalid, /Succeeded/),
    alter(
      "unknown mode of set",
      { setPropertyAction: { key: "a", value: "b", mode: "x" } },
      errors.invalid,
      /overwrite/,
    ),
    alter(
      "unknown mode of unset",
      { unsetPropertyAction: { key: "a", mode: "x" } },
      errors.invalid,
      /skip/,
    ),
    alter(
      "a property of the server",
      { setPropertyAction: { key: "operation", value: "b" } },
      errors.invalid,
      /operation.*set by the server/,
    ),
    alter(
      "a property that is not set",
      { unsetPropertyAction: { key: "no", mode: "Fail" } },
      errors.invalid,
      /no/,
    ),
    alter("no action", {}, errors.invalid, /exactly one/),
    failure(
      "ListNamespaces",
      "a forged token",
      "/v1/namespace/$/list",
      { page_token: "x" },
      errors.invalid,
      /page_token/,
    ),
    failure(
      "ListTables",
      "a forged token",
      "/v1/namespace/ns/table/list",
      { page_token: "x" },
      errors.invalid,
      /page_token/,
    ),
    failure(
      "ListAllTables",
      "a forged token",
      "/v1/table",
      { page_token: "x" },
      errors.invalid,
      /page_token/,
    ),
    failure(
      "ListJobs",
      "a forged token",
      "/v1/jobs/list",
      { page_token: "x" },
      errors.invalid,
      /page_token/,
    ),
    noJob("DescribeJob", "describe"),
    noJob("CancelJob", "cancel"),
    noJob("PauseJob", "pause"),
    noJob("ResumeJob", "resume"),
    noJob("QueryJobEvents", "query_events"),
    failure(
      "QueryJobEvents",
      "a filter",
      "/v1/jobs/query_events",
      { job_id: job, filter: "true" },
      errors.unsupported,
      /filter/,
    ),
  ];
};
