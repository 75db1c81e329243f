/** The subjects of LanceDB's authorization as text. */
import { hash } from "node:crypto";
import type { GrantedKey, Grants } from "../../catalog/grants/grants.js";
import { ErrorCode, invalidInput, JoustError } from "../../foundation/errors.js";

/**
 * The subject of joust that a text names.
 *
 * @throws code 13 for a text that names no subject, with 404 for a key that does not exist; code 0 for a role
 */
export async function parseSubject(
  grants: Pick<Grants, "findKeys">,
  text: string,
): Promise<string> {
  const kind = text.slice(0, 2);
  const value = text.slice(2);
  if (value === "") throw notASubject();
  switch (kind) {
    case "p:":
      return value.startsWith("user:") ? value : `key:${value}`;
    case "P:":
      return `key:${(await onlyKey(grants, { name: value })).id}`;
    case "a:":
      return `key:${(await onlyKey(grants, { hash: hash("sha256", value, "hex") })).id}`;
    case "g:":
    case "G:":
      return `group:${value}`;
    case "r:":
      throw new JoustError(
        ErrorCode.Unsupported,
        "the privileges of the roles read, write and admin are fixed: grant privileges to a principal or a group",
      );
    default:
      throw notASubject();
  }
}

/** Not with the text: it may hold a secret. */
const notASubject = (): JoustError =>
  invalidInput(
    "the subject is not valid: use p:ID, P:NAME, a:KEY, g:ID or G:NAME; the id of a user is user:ISSUER#SUBJECT",
  );

/** @throws code 13 unless one key matches */
async function onlyKey(
  grants: Pick<Grants, "findKeys">,
  by: { name: string } | { hash: string },
): Promise<GrantedKey> {
  const [key, ...others] = await grants.findKeys(by);
  if (!key) throw missing("there is no such key: joust key list shows the keys");
  if (others.length > 0) {
    throw invalidInput("several keys have that name: name the key by its id, p:ID");
  }
  return key;
}

/** A failure with status 404 for which the namespace specification has no code. */
export const missing = (message: string): JoustError =>
  new JoustError(ErrorCode.InvalidInput, message, 404);

/** The id of a subject without its kind, as LanceDB shows it. */
export const idOf = (subject: string): string =>
  subject.startsWith("user:") ? subject : subject.slice(subject.indexOf(":") + 1);

export const formatSubject = (subject: string): string =>
  `${subject.startsWith("group:") ? "g" : "p"}:${idOf(subject)}`;

/** The names of the keys among subjects, by subject. */
export async function namesOfKeys(
  grants: Pick<Grants, "findKeys">,
  subjects: readonly string[],
): Promise<Map<string, string>> {
  const ids = subjects.filter((subject) => subject.startsWith("key:")).map(idOf);
  if (ids.length === 0) return new Map();
  const keys = await grants.findKeys({ ids: [...new Set(ids)] });
  return new Map(keys.map(({ id, name }) => [`key:${id}`, name]));
}

/** The member of a reply that names a subject, if joust knows a name. */
export const subjectName = (names: ReadonlyMap<string, string>, subject: string) => {
  const name = names.get(subject);
  return name === undefined ? {} : { subject_name: name };
};
