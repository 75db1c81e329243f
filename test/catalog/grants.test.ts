import { createHash, randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { CallerPrivileges } from "../../src/catalog/grants/caller-privileges.js";
import { namespaceObject, SERVER, tableObject } from "../../src/catalog/grants/grants.js";
import {
  FILTERED,
  NO_PRIVILEGES,
  type Privilege,
  setOf,
} from "../../src/catalog/grants/privileges.js";
import type { OpenCatalog } from "../../src/server/open-catalog.js";
import { waitFor } from "../harness/wait-for.js";
import { describeOnEachDatabase, makeTable } from "./catalog-databases.js";

const GROUP = "group:analysts";

/** The privileges of the group on a table. */
async function onTable({ grants, catalog }: OpenCatalog, id: readonly string[]): Promise<number> {
  return new CallerPrivileges(NO_PRIVILEGES, await grants.held([GROUP])).onTable(id, catalog);
}

async function makeNamespace({ catalog }: OpenCatalog, ...path: string[]): Promise<void> {
  await catalog.createNamespace(path, "create", {});
}

describe("grants", () => {
  describeOnEachDatabase((newCatalog, kind) => {
    it("report what changed, and name missing objects and keys", async () => {
      const { grants, keys } = await newCatalog().open();
      expect(await grants.grant(GROUP, SERVER, ["insert", "select"])).toEqual(["select", "insert"]);
      expect(await grants.grant(GROUP, SERVER, ["select", "drop"])).toEqual(["drop"]);
      expect(await grants.revoke(GROUP, SERVER, ["select", "manage"])).toEqual(["select"]);
      expect(await grants.revoke(GROUP, SERVER, ["select"])).toEqual([]);
      const missing = grants.grant(GROUP, namespaceObject(["no"]), ["select"]);
      await expect(missing).rejects.toMatchObject({ code: 1 });
      const table = grants.grant(GROUP, tableObject(["no"]), ["select"]);
      await expect(table).rejects.toMatchObject({ code: 4 });
      for (const subject of ["analysts", "role:read", "group:", "key:unknown"]) {
        const refused = grants.grant(subject, SERVER, ["select"]);
        await expect(refused).rejects.toMatchObject({ code: 13 });
      }
      const hash = createHash("sha256").update(randomBytes(32)).digest();
      const { id } = await keys.create({ name: "ci", role: "none", hash });
      expect(await grants.grant(`key:${id}`, SERVER, ["select"])).toEqual(["select"]);
      expect(await grants.findKeys({ name: "ci" })).toEqual([{ id, name: "ci", role: "none" }]);
      expect(await grants.findKeys({ hash: hash.toString("hex") })).toHaveLength(1);
      await keys.revoke(id);
      expect((await grants.list({ subject: `key:${id}` }, {})).items).toEqual([]);
    });

    it("apply to everything in their object", async () => {
      const open = await newCatalog().open();
      const { grants, catalog } = open;
      await makeNamespace(open, "a");
      await makeNamespace(open, "a", "b");
      await makeNamespace(open, "a2");
      await makeTable(open, ["a", "b", "t"]);
      await grants.grant(GROUP, namespaceObject(["a"]), ["select"]);
      await grants.grant(GROUP, namespaceObject(["a", "b"]), ["insert"]);
      await grants.grant(GROUP, tableObject(["a", "b", "t"]), ["update"]);
      expect(await onTable(open, ["a", "b", "t"])).toBe(setOf(["select", "insert", "update"]));
      expect(await onTable(open, ["a", "b", "other"])).toBe(setOf(["select", "insert"]));
      expect(await onTable(open, ["a", "t"])).toBe(setOf(["select"]));
      expect(await onTable(open, ["a2", "t"])).toBe(NO_PRIVILEGES);
      const held = new CallerPrivileges(NO_PRIVILEGES, await grants.held([GROUP]));
      expect(held.seesNamespace(["a", "b"])).toBe(true);
      expect(held.seesNamespace(["a2"])).toBe(false);
      expect([...(held.visible()?.namespaces ?? [])].sort()).toEqual(["a", "a\u001fb"]);
      await grants.grant(GROUP, SERVER, ["drop"]);
      expect(await onTable(open, ["a2", "t"])).toBe(setOf(["drop"]));
      expect((await catalog.listAllTables({})).items).toEqual([["a", "b", "t"]]);
    });

    it("end with their table or namespace, and stay with a renamed table", async () => {
      const open = await newCatalog().open();
      const { grants, catalog } = open;
      await makeNamespace(open, "a");
      await makeTable(open, ["a", "t"]);
      await grants.grant(GROUP, tableObject(["a", "t"]), ["select"]);
      await catalog.renameTable(["a", "t"], ["u"]);
      await makeTable(open, ["a", "t"]);
      await waitFor("the new name is known", async () => (await onTable(open, ["u"])) !== 0, {
        timeoutMs: 2_000,
        intervalMs: 20,
      });
      expect(await onTable(open, ["u"])).toBe(setOf(["select"]));
      expect(await onTable(open, ["a", "t"])).toBe(NO_PRIVILEGES);

      const { key } = await catalog.dropTable(["u"]);
      await makeTable(open, ["u"]);
      expect(await onTable(open, ["u"])).toBe(NO_PRIVILEGES);
      await catalog.forgetTable(key);
      expect((await grants.list({}, {})).items).toEqual([]);

      for (const replace of [
        async () => {
          await catalog.dropNamespace(["a"], { missing: "fail", behavior: "cascade" });
          await makeNamespace(open, "a");
        },
        () => catalog.createNamespace(["a"], "overwrite", {}),
      ]) {
        await grants.grant(GROUP, namespaceObject(["a"]), ["select"]);
        await replace();
        expect((await grants.list({}, {})).items).toEqual([]);
      }
    });

    it("with a filter give no privilege for all rows, and replace each other", async () => {
      const open = await newCatalog().open();
      const { grants, catalog } = open;
      await makeNamespace(open, "a");
      await makeTable(open, ["a", "t"]);
      const table = tableObject(["a", "t"]);
      const filter = "tenant = 'ä'";
      const grant = (names: readonly Privilege[], one?: string) =>
        grants.grant(GROUP, table, names, one);
      const listed = async () => {
        const found = [];
        let pageToken: string | undefined;
        do {
          const page = await grants.list({}, { limit: 1, ...(pageToken && { pageToken }) });
          found.push(...page.items.map(({ privileges, filter }) => [privileges, filter]));
          pageToken = page.pageToken;
        } while (pageToken !== undefined);
        return found;
      };
      expect(await grant(["select", "delete"], filter)).toEqual(["select", "delete"]);
      expect(await grant(["select", "delete"], filter)).toEqual([]);
      expect(await onTable(open, ["a", "t"])).toBe(FILTERED);
      expect(await grant(["select", "insert"], "b = 1")).toEqual(["select", "insert"]);
      expect(await listed()).toEqual([
        [["select", "insert"], "b = 1"],
        [["delete"], filter],
      ]);
      await grants.grant(GROUP, namespaceObject(["a"]), ["select"], filter);
      const caller = new CallerPrivileges(NO_PRIVILEGES, await grants.held([GROUP]));
      const record = await catalog.table(["a", "t"]);
      expect(caller.filtersOn(record, "select").sort()).toEqual(["b = 1", filter]);
      expect(caller.filtersOn(record, "delete")).toEqual([filter]);
      expect(caller.filtersOn({ ...record, key: "other" }, "delete")).toEqual([]);
      expect(caller.filtersOn({ ...record, id: ["b", "t"], key: "other" }, "select")).toEqual([]);
      expect(caller.filtersOn(record, "update")).toEqual([]);
      expect(await grant(["select"])).toEqual(["select"]);
      expect(await onTable(open, ["a", "t"])).toBe(setOf(["select"]) | FILTERED);
      for (const [names, one] of [
        [["drop"], filter],
        [["select", "manage"], filter],
        [["select"], " "],
        [["select"], "x".repeat(10_001)],
      ] as const) {
        await expect(grant(names, one)).rejects.toMatchObject({ code: 13 });
      }
      expect(await grants.revoke(GROUP, table, ["delete"])).toEqual(["delete"]);
    });

    it("are listed in pages by subject and object", async () => {
      const open = await newCatalog().open();
      const { grants } = open;
      await makeNamespace(open, "a");
      await makeTable(open, ["a", "t"]);
      const objects = [SERVER, namespaceObject(["a"]), tableObject(["a", "t"])];
      for (const object of objects) {
        await grants.grant("group:b", object, ["select", "grant"]);
        await grants.grant("user:i#s", object, ["insert"]);
      }
      const found = [];
      let pageToken: string | undefined;
      do {
        const page = await grants.list({}, { limit: 2, ...(pageToken && { pageToken }) });
        found.push(...page.items);
        pageToken = page.pageToken;
      } while (pageToken !== undefined);
      const subjects = found.map(({ subject }) => subject);
      expect(subjects).toEqual([...Array(3).fill("group:b"), ...Array(3).fill("user:i#s")]);
      expect(found.slice(0, 3)).toEqual(
        expect.arrayContaining(
          objects.map((object) => ({
            subject: "group:b",
            object,
            privileges: ["select", "grant"],
          })),
        ),
      );
      const one = await grants.list({ subject: "user:i#s", object: tableObject(["a", "t"]) }, {});
      expect(one.items).toEqual([
        { subject: "user:i#s", object: tableObject(["a", "t"]), privileges: ["insert"] },
      ]);
      const forged = grants.list({ subject: "group:b" }, { pageToken: "x" });
      await expect(forged).rejects.toMatchObject({ code: 13 });
    });

    it("restrict the listings of the catalog in SQL", async () => {
      const open = await newCatalog().open();
      const { grants, catalog } = open;
      for (const path of [["a"], ["a", "b"], ["a-"], ["c"], ["c", "d"]]) {
        await makeNamespace(open, ...path);
      }
      for (const id of [["r"], ["s"], ["a", "t"], ["a", "b", "u"], ["a-", "v"], ["c", "d", "w"]]) {
        await makeTable(open, id);
      }
      await grants.grant(GROUP, namespaceObject(["a"]), ["insert"]);
      await grants.grant(GROUP, tableObject(["s"]), ["select"]);
      await grants.grant(GROUP, tableObject(["c", "d", "w"]), ["select"]);
      const held = await grants.held([GROUP]);
      const visible = new CallerPrivileges(NO_PRIVILEGES, held).visible();
      if (visible === undefined) throw new Error("the group sees everything");
      const options = { declared: true, visible };
      const all = ["s", "a$t", "a$b$u", "c$d$w"];
      const names = [];
      let pageToken: string | undefined;
      do {
        const page = await catalog.listAllTables(
          { limit: 1, ...(pageToken && { pageToken }) },
          options,
        );
        names.push(...page.items.map((id) => id.join("$")));
        pageToken = page.pageToken;
      } while (pageToken !== undefined);
      expect(names.sort()).toEqual([...all].sort());
      expect((await catalog.listTables([], {}, options)).items).toEqual(["s"]);
      expect((await catalog.listTables(["a"], {}, options)).items).toEqual(["t"]);
      expect((await catalog.listTables(["a-"], {}, options)).items).toEqual([]);
      expect((await catalog.listNamespaces([], {}, { visible })).items).toEqual(["a", "c"]);
      expect((await catalog.listNamespaces(["a"], {}, { visible })).items).toEqual(["b"]);
      expect((await catalog.listNamespaces(["c"], {}, { visible })).items).toEqual(["d"]);
    });

    it("take effect on a running server when another process changes them", async () => {
      const open = newCatalog();
      const server = await open.open();
      const tool = await open.open("tool");
      const holds = async () => (await server.grants.held([GROUP]))[0]?.isEmpty === false;
      expect(await holds()).toBe(false);
      await tool.grants.grant(GROUP, SERVER, ["select"]);
      // SQLite: a millisecond. Postgres: a second.
      const timeouts = { timeoutMs: kind === "sqlite" ? 100 : 2_000, intervalMs: 2 };
      await waitFor("the grant is known", holds, timeouts);
      expect(server.grants.heldSync([GROUP])?.[0]?.server).toBe(setOf(["select"]));
      await tool.grants.revoke(GROUP, SERVER, ["select"]);
      await waitFor("the revocation is known", async () => !(await holds()), timeouts);
    });
  });
});
