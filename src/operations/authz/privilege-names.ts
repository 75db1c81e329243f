/** LanceDB's names of the privileges. docs/secure.md has the table for users. */
import {
  ALL_PRIVILEGES,
  privileges as allPrivileges,
  covers,
  type Privilege,
  setOf,
} from "../../catalog/grants/privileges.js";
import { ErrorCode, invalidInput, JoustError } from "../../foundation/errors.js";

/** SDKs pass on `PRIVILEGE` with a number: joust has more privileges than LanceDB has names. */
const nameOf: Record<Privilege, string> = {
  select: "SELECT",
  insert: "INSERT",
  update: "UPDATE",
  delete: "DELETE",
  create: "CREATE_TABLE",
  drop: "PRIVILEGE1000",
  manage: "OPERATE",
  grant: "PRIVILEGE1001",
};
const OWNERSHIP = "OWNERSHIP";

/** LanceDB's privileges in the order of their numbers. */
const numbered = [
  OWNERSHIP,
  "USAGE",
  "SELECT",
  "INSERT",
  "UPDATE",
  "DELETE",
  "CREATE_DATABASE",
  "CREATE_NAMESPACE",
  "CREATE_TABLE",
  "CREATE_MATERIALIZED_VIEW",
  "CREATE_VIEW",
  "CREATE_SECRET",
  "CREATE_FUNCTION",
  "OPERATE",
];

/** LanceDB's name of a privilege. */
export const privilegeName = (privilege: Privilege): string => nameOf[privilege];

/** @throws code 13 for a name that LanceDB does not have, code 0 for a privilege that joust does not have */
export function parsePrivileges(name: string): readonly Privilege[] {
  const number = /^PRIVILEGE(\d+)$/.exec(name)?.[1];
  const canonical = (number === undefined ? undefined : numbered[Number(number)]) ?? name;
  if (canonical === OWNERSHIP) return allPrivileges;
  const privilege = allPrivileges.find((one) => nameOf[one] === canonical);
  if (privilege) return [privilege];
  if (!numbered.includes(canonical)) {
    throw invalidInput(
      `privilege ${JSON.stringify(name.slice(0, 80))} is not known: use ${OWNERSHIP} or one of ${Object.values(nameOf).join(", ")}`,
    );
  }
  throw new JoustError(
    ErrorCode.Unsupported,
    canonical === "USAGE"
      ? "this server has no privilege USAGE: a caller sees an object if it has any privilege on it"
      : "this server has one privilege to create namespaces, tables and views: grant CREATE_TABLE",
  );
}

/** A subject with all privileges is shown as an owner. */
export const formatPrivileges = (names: readonly Privilege[]): string[] =>
  covers(setOf(names), ALL_PRIVILEGES) ? [OWNERSHIP] : names.map((name) => nameOf[name]);
