/** Every kind of caller of the matrix. */
import type { CallerRole } from "../../../../src/auth/roles.js";
import {
  namespaceObject,
  SERVER,
  type SecuredObject,
  tableObject,
} from "../../../../src/catalog/grants/grants.js";
import {
  namesOf,
  type Privilege,
  privileges,
  roleBundles,
} from "../../../../src/catalog/grants/privileges.js";
import type { Client } from "../../../harness/client.js";
import type { IdentityProvider } from "../../../harness/identity-provider.js";
import type { TestGrants } from "../grant-callers.js";

/** The names of the objects. None of them is a part of another word in a request. */
export const objects = {
  /** The namespace of all objects that requests name. */
  space: "sales",
  table: "orders",
  /** A table that requests may change in any way. */
  scratch: "drafts",
  view: "totals",
  /** Another table in the same namespace. */
  neighbor: "payroll",
  /** Another namespace, and its table. */
  elsewhere: ["vault", "gold"],
} as const;

/** Where a caller has its privileges. */
export type Level = "server" | "namespace" | "table" | "another table" | "another namespace";

export interface Caller {
  readonly name: string;
  /** How the caller identifies itself. The last ones are not valid. */
  readonly as: "key" | "user" | "group" | "no key" | "revoked" | "expired" | "expired token";
  readonly role: CallerRole;
  readonly level?: Level;
  readonly privileges: readonly Privilege[];
}

const isValid = ({ as }: Caller): boolean => as === "key" || as === "user" || as === "group";
export const isUnknown = (caller: Caller): boolean => !isValid(caller);

/** A caller of the role `none` with privileges at a level. */
const holder = (level: Level, name: string, all: readonly Privilege[], as: Caller["as"] = "key") =>
  ({ name: `${as} with ${name} on ${level}`, as, role: "none", level, privileges: all }) as const;

const levels = ["server", "namespace", "table"] as const;
const bundles = ["read", "write", "admin"] as const;

export const callers: readonly Caller[] = [
  ...(["no key", "revoked", "expired", "expired token"] as const).map(
    (as): Caller => ({ name: as, as, role: "none", privileges: [] }),
  ),
  ...(["key", "user", "group"] as const).map(
    (as): Caller => ({ name: `${as} without grants`, as, role: "none", privileges: [] }),
  ),
  holder("another table", "all", privileges),
  holder("another namespace", "all", privileges),
  ...levels.flatMap((level) => [
    ...privileges.map((one) => holder(level, one, [one])),
    ...bundles.map((role) => holder(level, `all of ${role}`, namesOf(roleBundles[role]))),
  ]),
  ...bundles.map(
    (role): Caller => ({ name: `key of the role ${role}`, as: "key", role, privileges: [] }),
  ),
  // The role follows from the group: see `--oidc-roles` in setup.ts.
  { name: "group of the role write", as: "group", role: "write", privileges: [] },
  holder("table", "select", ["select"], "user"),
  holder("namespace", "all of write", namesOf(roleBundles.write), "user"),
  holder("table", "update", ["update"], "group"),
  holder("namespace", "select", ["select"], "group"),
  holder("server", "all of admin", privileges, "group"),
];

/** A caller that can send requests. */
export interface ActiveCaller extends Caller {
  readonly client: Client;
  readonly subject: string;
}

/** The objects of the grants of a caller. `tables`: those that the requests name. */
export function grantedObjects(
  { level }: Pick<Caller, "level">,
  tables: readonly (readonly string[])[],
): SecuredObject[] {
  switch (level) {
    case "server":
      return [SERVER];
    case "namespace":
      return [namespaceObject([objects.space])];
    case "table":
      return tables.map((id) => tableObject(id));
    case "another table":
      return [tableObject([objects.space, objects.neighbor])];
    case "another namespace":
      return [tableObject(objects.elsewhere), namespaceObject(objects.elsewhere.slice(0, 1))];
    default:
      return [];
  }
}

/** The tables that requests name, without the fresh ones. */
export const namedTables: readonly (readonly string[])[] = [
  [objects.space, objects.table],
  [objects.space, objects.scratch],
  [objects.space, objects.view],
];

/** The group that has the role `write` without a grant. */
export const ROLE_GROUP = "writers";

/** Creates the key or the token of a caller, and its grants. */
export async function activate(
  caller: Caller,
  number: number,
  { grants, admin, provider }: { grants: TestGrants; admin: Client; provider: IdentityProvider },
): Promise<ActiveCaller> {
  const known = async (): Promise<{ client: Client; subject: string }> => {
    const now = Math.floor(Date.now() / 1_000);
    switch (caller.as) {
      case "no key":
        return { client: admin.withKey(""), subject: "" };
      case "revoked": {
        const { client, id } = await grants.key("admin");
        await grants.revokeKey(id);
        return { client, subject: "" };
      }
      case "expired": {
        const { client } = await grants.key("admin", 1);
        return { client, subject: "" };
      }
      case "expired token": {
        const token = await provider.sign({ groups: [ROLE_GROUP], exp: now - 600 });
        return { client: admin.withKey(token), subject: "" };
      }
      case "user":
      case "group": {
        const group = caller.role === "write" ? ROLE_GROUP : `group-${number}`;
        const sub = `user-${number}`;
        const token = await provider.sign({ sub, groups: [group], exp: now + 3_600 });
        const subject = caller.as === "group" ? `group:${group}` : `user:${provider.issuer}#${sub}`;
        return { client: admin.withKey(token), subject };
      }
      case "key": {
        const { client, id } = await grants.key(caller.role);
        return { client, subject: `key:${id}` };
      }
    }
  };
  const active = { ...caller, ...(await known()) };
  for (const object of grantedObjects(caller, namedTables)) {
    await grants.grants.grant(active.subject, object, caller.privileges);
  }
  return active;
}
