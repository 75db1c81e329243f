import type { Identity } from "./authenticator.js";

const USER = "user:";

/** The subjects of a caller, as grants name them: `key:ID` or `user:ISSUER#SUBJECT`, and `group:NAME`. */
export function subjectsOf({ id, groups }: Identity): string[] {
  return [subjectOf(id), ...groups.map((name) => `group:${name}`)];
}

/** The subject of the caller itself. The id of a user is its subject. */
export const subjectOf = (id: string): string => (id.startsWith(USER) ? id : `key:${id}`);
