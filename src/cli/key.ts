import { hashKey, newKey } from "../auth/key.js";
import { callerRoles, isCallerRole } from "../auth/roles.js";
import { isReservedName } from "../auth/worker-keys.js";
import type { KeyRecord } from "../catalog/key-records.js";
import type { KeyStore } from "../catalog/keys.js";
import { ConfigError, duration } from "../config/option.js";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import { auditedSubject, withAuditedCatalog } from "./audited-command.js";
import { takeFlags } from "./take-flags.js";
import { withCatalog } from "./with-catalog.js";

/** `joust key create|list|rotate|revoke`: changes the catalog directly, also while a server uses it. */
export async function key(args: readonly string[]): Promise<void> {
  const [verb, ...rest] = args;
  switch (verb) {
    case "create":
      return create(rest);
    case "list":
      return withKeys(rest, list);
    case "rotate":
      return rotate(rest);
    case "revoke": {
      const { id, others } = takeId("revoke", rest);
      return withAuditedCatalog(others, "RevokeKey", async (catalog, describe) => {
        describe(await auditedSubject(catalog, `key:${id}`));
        await revoke(catalog.keys, id);
      });
    }
    default:
      throw new ConfigError("joust key takes create, list, rotate or revoke");
  }
}

async function create(args: readonly string[]): Promise<void> {
  const { flags, rest } = takeFlags(args, ["--name", "--role", "--expires"]);
  const { "--name": name, "--role": role = "none" } = flags;
  if (name === undefined || name === "") {
    throw new ConfigError("joust key create needs --name, which identifies the key in the list");
  }
  if (isReservedName(name)) {
    throw new ConfigError(`the name "${name}" is reserved for the workers of jobs: choose another`);
  }
  if (!isCallerRole(role))
    throw new ConfigError(`--role must be one of ${callerRoles.join(", ")}, got "${role}"`);
  const lifetimeMs = lifetimeOf(flags["--expires"]);
  await withAuditedCatalog(rest, "CreateKey", async ({ keys }, describe) => {
    describe({ subject_name: name, role });
    const secret = newKey();
    const record = await keys.create({ name, role, hash: hashKey(secret), lifetimeMs });
    describe({ subject: `key:${record.id}`, subject_name: name, role });
    process.stdout.write(`${role} key (shown once): ${secret}\nid: ${record.id}\n${end(record)}`);
    if (role === "none") process.stdout.write(withoutRole(record));
  });
}

const withoutRole = ({ id }: KeyRecord): string =>
  `the key has no role and may do nothing yet: use \`joust grant select --on OBJECT --to key:${id}\`, or create a key with --role\n`;

async function rotate(args: readonly string[]): Promise<void> {
  const { id, others } = takeId("rotate", args);
  const { flags, rest } = takeFlags(others, ["--overlap", "--expires"]);
  const overlapMs = durationOf("--overlap", flags["--overlap"] ?? "1d");
  const lifetimeMs = lifetimeOf(flags["--expires"]);
  await withAuditedCatalog(rest, "RotateKey", async (catalog, describe) => {
    const { keys } = catalog;
    describe(await auditedSubject(catalog, `key:${id}`));
    const secret = newKey();
    const record = await keys.rotate(id, { hash: hashKey(secret), overlapMs, lifetimeMs });
    if (record === undefined) throw unknownId(id);
    const former = new Date(record.issuedMillis + overlapMs).toISOString();
    process.stdout.write(
      `${record.role} key (shown once): ${secret}\nid: ${id}\n${end(record)}` +
        (overlapMs > 0 ? `former keys: valid until ${former} at most\n` : "former keys: invalid\n"),
    );
  });
}

async function list(keys: KeyStore): Promise<void> {
  for (const {
    id,
    role,
    createdMillis,
    expiresMillis,
    lastUsedMillis,
    name,
  } of await keys.list()) {
    const columns = [
      id,
      role.padEnd(5),
      time(createdMillis),
      `expires ${time(expiresMillis)}`,
      `used ${time(lastUsedMillis)}`,
      name,
    ];
    process.stdout.write(`${columns.join("  ")}\n`);
  }
}

async function revoke(keys: KeyStore, id: string): Promise<void> {
  if (!(await keys.revoke(id))) throw unknownId(id);
  process.stdout.write(`revoked ${id}\n`);
}

const unknownId = (id: string): JoustError =>
  new JoustError(ErrorCode.InvalidInput, `there is no key with the id ${id}`, 404);

/** Aligned with a time in the ISO format. */
const time = (millis: number | undefined): string =>
  millis === undefined ? "never".padEnd(24) : new Date(millis).toISOString();

const end = ({ expiresMillis }: KeyRecord): string =>
  expiresMillis === undefined ? "" : `expires: ${new Date(expiresMillis).toISOString()}\n`;

/** The id is the first argument of a command. @throws ConfigError without one */
function takeId(verb: string, args: readonly string[]): { id: string; others: readonly string[] } {
  const [id, ...others] = args;
  if (id === undefined || id.startsWith("-")) {
    throw new ConfigError(`joust key ${verb} needs the ID of a key: joust key list shows it`);
  }
  return { id, others };
}

function lifetimeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const millis = durationOf("--expires", text);
  if (millis === 0) throw new ConfigError("--expires must be a time above 0, such as 90d");
  return millis;
}

function durationOf(flag: string, text: string): number {
  let millis: number;
  try {
    millis = duration.parse(text);
  } catch (error) {
    throw new ConfigError(`${flag} ${(error as Error).message}`);
  }
  if (millis > MOST_MILLIS) throw new ConfigError(`${flag} must be at most 36500d, got "${text}"`);
  return millis;
}

/** A hundred years: beyond the year 9999 a time has another format. */
const MOST_MILLIS = 36_500 * 24 * 3_600_000;

async function withKeys(
  args: readonly string[],
  work: (keys: KeyStore) => Promise<void>,
): Promise<void> {
  await withCatalog(args, ({ keys }) => work(keys));
}
