/** GRANT and REVOKE. */
import {
  namespaceObject,
  SERVER,
  type SecuredObject,
  tableObject,
} from "../../catalog/grants/grants.js";
import { checkFilterable } from "../../catalog/grants/privileges.js";
import { invalidInput, JoustError } from "../../foundation/errors.js";
import { addGrant } from "../authz/add-grant.js";
import { deleteGrant } from "../authz/delete-grant.js";
import { formatObject } from "../authz/objects.js";
import { privilegeName } from "../authz/privilege-names.js";
import { formatSubject } from "../authz/subjects.js";
import type { ChangeOf, Granted } from "./change.js";
import { done, type StatementResult } from "./statement-result.js";
import { type StatementOperation, type StatementRun, statementOperation } from "./statement-run.js";

const adding = statementOperation(addGrant);
const deleting = statementOperation(deleteGrant);

/**
 * A privilege that the subject has already stays as it is.
 *
 * @throws code 13 before the first privilege is granted, if the filter cannot restrict one of them
 */
export async function grantPrivileges(
  run: StatementRun,
  { filter, ...change }: ChangeOf<"grant">,
): Promise<StatementResult> {
  if (filter !== undefined) checkFilterable(change.privileges);
  const requests = await requestsOf(run, change);
  const payloads = requests.map((payload) => ({
    ...payload,
    ...(filter !== undefined && { filter }),
  }));
  return forEach(run, adding, payloads, 409);
}

/** @throws code 13 with 404 if the subject has none of the privileges on the object */
export async function revokePrivileges(
  run: StatementRun,
  change: ChangeOf<"revoke">,
): Promise<StatementResult> {
  return forEach(run, deleting, await requestsOf(run, change), 404);
}

type Request = Record<"subject" | "object" | "privilege", string>;

/** The request for each privilege. */
async function requestsOf(
  run: StatementRun,
  { privileges, object, subject }: Pick<ChangeOf<"revoke">, "privileges" | "object" | "subject">,
): Promise<Request[]> {
  if (!/^(?:key|user|group):./s.test(subject)) {
    throw invalidInput("a subject is 'key:ID', 'user:ISSUER#SUBJECT' or 'group:NAME'");
  }
  const named = {
    subject: formatSubject(subject),
    object: formatObject(await securedObject(run, object)),
  };
  return privileges.map((privilege) => ({ ...named, privilege: privilegeName(privilege) }));
}

async function securedObject(run: StatementRun, object: Granted): Promise<SecuredObject> {
  if (object.kind === "server") return SERVER;
  const id = await run.id(object.name);
  return object.kind === "table" ? tableObject(id) : namespaceObject(id);
}

/**
 * Runs the operation with each payload, after the caller is authorized for all.
 *
 * `without`: the status of a payload that changes nothing. It fails only if none changes something.
 */
async function forEach(
  run: StatementRun,
  operation: StatementOperation,
  payloads: readonly Request[],
  without: 404 | 409,
): Promise<StatementResult> {
  for (const payload of payloads) await run.check(operation, { id: [], payload });
  let failure: unknown;
  let changed = 0;
  for (const payload of payloads) {
    try {
      await run.run(operation, { id: [], payload });
      changed++;
    } catch (error) {
      if (!(error instanceof JoustError) || error.status !== without) throw error;
      failure = error;
    }
  }
  if (changed === 0 && without === 404) throw failure;
  return done();
}
