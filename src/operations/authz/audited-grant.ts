/** What the audit log says about a grant that a request names. */
import { type Grants, objectText } from "../../catalog/grants/grants.js";
import type { AuditedGrant } from "../../telemetry/audit/audit-log.js";
import { parseObject } from "./objects.js";
import { parsePrivileges } from "./privilege-names.js";
import { privilegesOfRole, readRole } from "./roles.js";
import { namesOfKeys, parseSubject } from "./subjects.js";

/** The longest text of a client in a line, characters. */
const MAX_TEXT = 1_024;

/** The texts of a request. */
interface NamedGrant {
  readonly subject?: string | undefined;
  readonly object?: string | undefined;
  readonly privilege?: string | undefined;
  readonly filter?: string | undefined;
  readonly role?: string | undefined;
}

/** Leaves out what cannot be read: the request fails for that reason, and the line has the rest. */
export async function auditedGrant(
  grants: Pick<Grants, "findKeys">,
  { subject, object, privilege, filter, role }: NamedGrant,
): Promise<AuditedGrant> {
  return {
    ...(await auditedSubject(grants, subject)),
    object: readable(object, (text) => objectText(parseObject(text)).slice(0, MAX_TEXT)),
    privileges:
      readable(privilege, parsePrivileges) ?? readable(role, (text) => privilegesOfRole(text)),
    filter: filter?.slice(0, MAX_TEXT),
    role: readable(role, readRole),
  };
}

/** A text that names no key of the catalog may be a secret in the wrong place: it is absent. */
async function auditedSubject(
  grants: Pick<Grants, "findKeys">,
  text: string | undefined,
): Promise<Pick<AuditedGrant, "subject" | "subject_name">> {
  if (text === undefined) return {};
  try {
    const subject = await parseSubject(grants, text);
    if (!subject.startsWith("key:")) return { subject: subject.slice(0, MAX_TEXT) };
    const name = (await namesOfKeys(grants, [subject])).get(subject);
    return name === undefined ? {} : { subject, subject_name: name };
  } catch {
    return {};
  }
}

function readable<T>(text: string | undefined, read: (text: string) => T): T | undefined {
  if (text === undefined) return undefined;
  try {
    return read(text);
  } catch {
    return undefined;
  }
}
