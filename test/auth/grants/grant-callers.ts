import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { hashKey, newKey } from "../../../src/auth/key.js";
import type { CallerRole } from "../../../src/auth/roles.js";
import {
  type Grants,
  namespaceObject,
  SERVER,
  type SecuredObject,
  tableObject,
} from "../../../src/catalog/grants/grants.js";
import type { Privilege } from "../../../src/catalog/grants/privileges.js";
import { type OpenCatalog, openCatalog } from "../../../src/server/open-catalog.js";
import { quiet } from "../../catalog/catalog-databases.js";
import type { Client } from "../../harness/client.js";
import type { TestServer } from "../../harness/setup-server.js";

/** `server`, `namespace:a$b` or `table:a$b$t`. */
export function objectOf(text: string): SecuredObject {
  if (text === "server") return SERVER;
  const path = text.slice(text.indexOf(":") + 1).split("$");
  return text.startsWith("table:") ? tableObject(path) : namespaceObject(path);
}

/** Grants in the catalog of a running server, from this process. */
export interface TestGrants {
  readonly grants: Grants;
  /** Creates a key, as `joust key create` does. */
  key(role: CallerRole, lifetimeMs?: number): Promise<{ client: Client; id: string }>;
  /** Revokes a key. */
  revokeKey(id: string): Promise<void>;
  /** Creates a key of the role `none` with these privileges by object. */
  caller(grants?: Record<string, readonly Privilege[]>): Promise<{ client: Client; id: string }>;
  /** The same with a filter, for a table or for other objects. */
  filteredCaller(
    object: string,
    privileges: readonly Privilege[],
    filter: string,
  ): Promise<{ client: Client; id: string }>;
}

export function setupGrants(joust: TestServer): TestGrants {
  let opened: OpenCatalog | undefined;
  beforeAll(async () => {
    const { root } = joust;
    const url = join(root, ".joust", "catalog.db");
    opened = await openCatalog({ root, url, log: quiet, role: "tool" });
  });
  afterAll(() => opened?.close());
  const catalog = (): OpenCatalog => {
    if (opened === undefined) throw new Error("the catalog is open in hooks and tests only");
    return opened;
  };
  const key = async (role: CallerRole, lifetimeMs?: number) => {
    const secret = newKey();
    const created = { name: role, role, hash: hashKey(secret), lifetimeMs };
    const { id } = await catalog().keys.create(created);
    return { client: joust.client.withKey(secret), id };
  };
  return {
    get grants() {
      return catalog().grants;
    },
    key,
    async revokeKey(id) {
      await catalog().keys.revoke(id);
    },
    async caller(granted = {}) {
      const caller = await key("none");
      for (const [object, privileges] of Object.entries(granted)) {
        await catalog().grants.grant(`key:${caller.id}`, objectOf(object), privileges);
      }
      return caller;
    },
    async filteredCaller(object, privileges, filter) {
      const caller = await key("none");
      await catalog().grants.grant(`key:${caller.id}`, objectOf(object), privileges, filter);
      return caller;
    },
  };
}
