import type { Catalog } from "../catalog/catalog.js";
import {
  type GrantEntry,
  type Grants,
  namespaceObject,
  objectText,
  SERVER,
  type SecuredObject,
  tableObject,
} from "../catalog/grants/grants.js";
import { isPrivilege, type Privilege, privileges } from "../catalog/grants/privileges.js";
import { checkNamespacePath, checkTableId } from "../catalog/names.js";
import type { Config } from "../config/config.js";
import { ConfigError } from "../config/option.js";
import { storageOptions } from "../tables/open-table.js";
import { auditedSubject, withAuditedCatalog } from "./audited-command.js";
import { takeFlags } from "./take-flags.js";
import { withCatalog } from "./with-catalog.js";

/** Separates the components of an object. */
const DELIMITER = "$";

/** `joust grant PRIVILEGE,... --on OBJECT --to SUBJECT [--filter CONDITION]`. */
export async function grant(args: readonly string[]): Promise<void> {
  const { flags, rest: others } = takeFlags(args, ["--filter"]);
  const { names, object, subject, rest } = readChange("grant", "--to", others);
  const filter = flags["--filter"];
  await withAuditedCatalog(rest, "AddGrant", async ({ grants, catalog }, describe, config) => {
    const on = { object: objectText(object), privileges: names, filter };
    describe({ ...(await auditedSubject({ grants }, subject)), ...on });
    if (filter !== undefined) await checkFilter({ catalog, config }, object, filter);
    const granted = await grants.grant(subject, object, names, filter);
    print(granted.length > 0 ? `granted ${granted.join(", ")}` : "nothing to grant");
  });
}

/** Of a namespace, only the form of the condition can be checked. @throws code 12 or 13 */
async function checkFilter(
  { catalog, config }: { catalog: Catalog; config: Config },
  object: SecuredObject,
  filter: string,
): Promise<void> {
  const { Engine, checkRowFilter } = await import("../engine/index.js");
  if (object.kind !== "table") {
    checkRowFilter(filter);
    return;
  }
  const record = await catalog.table(object.id);
  const options = storageOptions({ config }, record);
  await new Engine().table(record.location, options).checkRowFilter(filter);
}

/** `joust revoke PRIVILEGE,... --on OBJECT --from SUBJECT`. */
export async function revoke(args: readonly string[]): Promise<void> {
  const { names, object, subject, rest } = readChange("revoke", "--from", args);
  await withAuditedCatalog(rest, "DeleteGrant", async ({ grants }, describe) => {
    const on = { object: objectText(object), privileges: names };
    describe({ ...(await auditedSubject({ grants }, subject)), ...on });
    const revoked = await grants.revoke(subject, object, names);
    print(revoked.length > 0 ? `revoked ${revoked.join(", ")}` : "nothing to revoke");
  });
}

/** `joust grants [--on OBJECT] [--subject SUBJECT]`. */
export async function listGrants(args: readonly string[]): Promise<void> {
  const { flags, rest } = takeFlags(args, ["--on", "--subject"]);
  const { "--on": on, "--subject": subject } = flags;
  const object = on === undefined ? undefined : readObject(on);
  await withCatalog(rest, async ({ grants }) => {
    for await (const entry of entries(grants, { subject, object })) print(line(entry));
  });
}

async function* entries(
  grants: Grants,
  filter: { subject: string | undefined; object: SecuredObject | undefined },
): AsyncGenerator<GrantEntry> {
  let pageToken: string | undefined;
  do {
    const page = await grants.list(filter, pageToken === undefined ? {} : { pageToken });
    yield* page.items;
    pageToken = page.pageToken;
  } while (pageToken !== undefined);
}

function readChange<const Flag extends "--to" | "--from">(
  command: string,
  subjectFlag: Flag,
  args: readonly string[],
) {
  const [list, ...others] = args;
  if (list === undefined || list.startsWith("-")) {
    throw new ConfigError(`joust ${command} needs privileges, such as select,insert`);
  }
  const { flags, rest } = takeFlags(others, ["--on", subjectFlag]);
  const on = flags["--on"];
  const subject = flags[subjectFlag];
  if (on === undefined || subject === undefined) {
    throw new ConfigError(`joust ${command} needs --on OBJECT and ${subjectFlag} SUBJECT`);
  }
  return { names: readPrivileges(list), object: readObject(on), subject, rest };
}

/** @throws ConfigError */
function readPrivileges(list: string): readonly Privilege[] {
  if (list === "all") return privileges;
  return list.split(",").map((name) => {
    if (isPrivilege(name)) return name;
    throw new ConfigError(
      `${JSON.stringify(name)} is not a privilege: use all, or some of ${privileges.join(",")}`,
    );
  });
}

/** @throws ConfigError, or code 13 for a name that no object can have */
function readObject(text: string): SecuredObject {
  if (text === "server") return SERVER;
  const path = text.slice(text.indexOf(":") + 1).split(DELIMITER);
  if (text.startsWith("namespace:")) {
    checkNamespacePath(path);
    return namespaceObject(path);
  }
  if (text.startsWith("table:")) {
    checkTableId(path);
    return tableObject(path);
  }
  throw new ConfigError(`--on must be server, namespace:a$b or table:a$b$t, got "${text}"`);
}

const line = ({ subject, object, privileges, filter }: GrantEntry): string => {
  const rows = filter === undefined ? "" : `  ${filter.replaceAll(/\s+/g, " ")}`;
  return `${subject}  ${objectText(object)}  ${privileges.join(",")}${rows}`;
};

const print = (text: string): void => void process.stdout.write(`${text}\n`);
