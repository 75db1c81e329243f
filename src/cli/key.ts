import { hashKey, newKey } from "../auth/key.js";
import { callerRoles, isCallerRole } from "../auth/roles.js";
import type { KeyStore } from "../catalog/keys.js";
import { ConfigError } from "../config/option.js";
import { takeFlags } from "./take-flags.js";
import { withCatalog } from "./with-catalog.js";

/** `joust key create|list|revoke`: changes the catalog directly, also while a server uses it. */
export async function key(args: readonly string[]): Promise<void> {
  const [verb, ...rest] = args;
  switch (verb) {
    case "create":
      return create(rest);
    case "list":
      return withKeys(rest, list);
    case "revoke": {
      const [id, ...others] = rest;
      if (id === undefined || id.startsWith("-")) {
        throw new ConfigError("joust key revoke needs the ID of a key: joust key list shows it");
      }
      return withKeys(others, (keys) => revoke(keys, id));
    }
    default:
      throw new ConfigError("joust key takes create, list or revoke");
  }
}

async function create(args: readonly string[]): Promise<void> {
  const { flags, rest } = takeFlags(args, ["--name", "--role"]);
  const { "--name": name, "--role": role = "read" } = flags;
  if (name === undefined || name === "") {
    throw new ConfigError("joust key create needs --name, which identifies the key in the list");
  }
  if (!isCallerRole(role))
    throw new ConfigError(`--role must be one of ${callerRoles.join(", ")}, got "${role}"`);
  await withKeys(rest, async (keys) => {
    const secret = newKey();
    const { id } = await keys.create({ name, role, hash: hashKey(secret) });
    process.stdout.write(`${role} key (shown once): ${secret}\nid: ${id}\n`);
  });
}

async function list(keys: KeyStore): Promise<void> {
  for (const { id, role, createdMillis, name } of await keys.list()) {
    process.stdout.write(
      `${id}  ${role.padEnd(5)}  ${new Date(createdMillis).toISOString()}  ${name}\n`,
    );
  }
}

async function revoke(keys: KeyStore, id: string): Promise<void> {
  if (!(await keys.revoke(id))) throw new Error(`there is no key with the id ${id}`);
  process.stdout.write(`revoked ${id}\n`);
}

async function withKeys(
  args: readonly string[],
  work: (keys: KeyStore) => Promise<void>,
): Promise<void> {
  await withCatalog(args, ({ keys }) => work(keys));
}
