/** Roles as LanceDB binds them: the privileges of a role, granted on the server. */
import { type Grants, SERVER } from "../../catalog/grants/grants.js";
import {
  covers,
  namesOf,
  type Privilege,
  roleBundles,
  setOf,
} from "../../catalog/grants/privileges.js";
import { invalidInput } from "../../foundation/errors.js";

type BoundRole = Exclude<keyof typeof roleBundles, "none">;

/** The largest first. */
const boundRoles: readonly BoundRole[] = ["admin", "write", "read"];

/** The privileges of a role. @throws code 13 for a role that joust does not have */
export function privilegesOfRole(role: string): readonly Privilege[] {
  return namesOf(roleBundles[readRole(role)]);
}

export function readRole(role: string): BoundRole {
  const known = boundRoles.find((one) => one === role);
  if (known) return known;
  throw invalidInput(
    `role ${JSON.stringify(role.slice(0, 80))} is not known: use read, write or admin`,
  );
}

/** The largest role that privileges on the server cover. */
export const coveredRole = (privileges: readonly Privilege[]): BoundRole | undefined =>
  boundRoles.find((role) => covers(setOf(privileges), roleBundles[role]));

/** The role that grants on the server give a subject. */
export async function boundRole(
  grants: Pick<Grants, "list">,
  subject: string,
): Promise<BoundRole | undefined> {
  const { items } = await grants.list({ subject, object: SERVER }, {});
  const unfiltered = items.find(({ filter }) => filter === undefined);
  return coveredRole(unfiltered?.privileges ?? []);
}
