import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { OpenCatalog } from "../../src/server/open-catalog.js";
import { describeOnEachDatabase, makeTable } from "./catalog-databases.js";

/** A model of the catalog without SQL: namespaces and tables by path, written as JSON. */
class Model {
  readonly namespaces = new Set<string>(["[]"]);
  readonly tables = new Set<string>();

  below(path: readonly string[], of: Set<string>): string[][] {
    return [...of]
      .map((stored) => JSON.parse(stored) as string[])
      .filter((id) => id.length > path.length && path.every((name, i) => id[i] === name));
  }

  children(path: readonly string[], of: Set<string>): string[] {
    return this.below(path, of)
      .filter((id) => id.length === path.length + 1)
      .map((id) => id.at(-1) as string)
      .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  }

  empty(path: readonly string[]): string[][] {
    const tables = this.below(path, this.tables);
    for (const id of tables) this.tables.delete(JSON.stringify(id));
    for (const id of this.below(path, this.namespaces)) this.namespaces.delete(JSON.stringify(id));
    return tables;
  }
}

interface World {
  store: OpenCatalog;
  other: OpenCatalog;
}
type Command = fc.AsyncCommand<Model, World>;

/** A command from the expected and the actual operation; both return a value or an error code. */
function command(
  text: string,
  expected: (model: Model) => unknown,
  actual: (world: World) => Promise<unknown>,
): Command {
  return {
    toString: () => text,
    check: () => true,
    async run(model, world) {
      const result = await actual(world).catch((error) => error.code ?? error);
      expect(result, text).toEqual(expected(model));
    },
  };
}

const bySize = (ids: readonly string[][]) => ids.map((id) => JSON.stringify(id)).sort();

// Few names, so that commands collide; some sort differently as UTF-16 or near the separator.
const name = fc.constantFrom("a", "b", "a b", "a$b", "ﬀ", "🦀");
const path = fc.array(name, { maxLength: 3 });
const id = fc.array(name, { minLength: 1, maxLength: 3 });
const key = (value: readonly string[]) => JSON.stringify(value);
const parentOf = (value: readonly string[]) => key(value.slice(0, -1));

const createNamespace = fc
  .tuple(path, fc.constantFrom("create", "exist_ok", "overwrite"))
  .map(([p, mode]) =>
    command(
      `create namespace ${key(p)} ${mode}`,
      (model) => {
        if (p.length === 0) return mode === "create" ? 2 : mode === "overwrite" ? 13 : [];
        if (!model.namespaces.has(parentOf(p))) return 1;
        if (!model.namespaces.has(key(p))) {
          model.namespaces.add(key(p));
          return [];
        }
        if (mode === "create") return 2;
        return mode === "overwrite" ? bySize(model.empty(p)) : [];
      },
      async ({ store }) => {
        const { emptied } = await store.catalog.createNamespace(p, mode as "create", {});
        return bySize(emptied.map((table) => table.id));
      },
    ),
  );

const dropNamespace = fc
  .tuple(path, fc.constantFrom("restrict", "cascade"), fc.constantFrom("fail", "skip"))
  .map(([p, behavior, missing]) =>
    command(
      `drop namespace ${key(p)} ${behavior} ${missing}`,
      (model) => {
        if (p.length === 0) return 13;
        if (!model.namespaces.has(key(p))) return missing === "skip" ? null : 1;
        const inside = [...model.below(p, model.namespaces), ...model.below(p, model.tables)];
        if (behavior === "restrict" && inside.length > 0) return 3;
        const emptied = model.empty(p);
        model.namespaces.delete(key(p));
        return bySize(emptied);
      },
      async ({ other }) => {
        const options = { behavior, missing } as { behavior: "cascade"; missing: "skip" };
        const dropped = await other.catalog.dropNamespace(p, options);
        return dropped && bySize(dropped.emptied.map((table) => table.id));
      },
    ),
  );

const createTable = id.map((t) =>
  command(
    `create table ${key(t)}`,
    (model) => {
      if (!model.namespaces.has(parentOf(t))) return 1;
      if (model.tables.has(key(t))) return 5;
      model.tables.add(key(t));
      return t;
    },
    async ({ store }) => (await makeTable(store, t)).id,
  ),
);

const findTable = id.map((t) =>
  command(
    `find table ${key(t)}`,
    (model) => (model.tables.has(key(t)) ? t : model.namespaces.has(parentOf(t)) ? 4 : 1),
    async ({ other }) => (await other.catalog.table(t)).id,
  ),
);

const dropTable = fc.tuple(id, fc.boolean()).map(([t, forget]) =>
  command(
    `drop table ${key(t)}`,
    (model) => {
      if (model.tables.delete(key(t))) return t;
      return model.namespaces.has(parentOf(t)) ? 4 : 1;
    },
    async ({ store }) => {
      const table = await store.catalog.dropTable(t);
      if (forget) await store.catalog.forgetTable(table.key);
      return table.id;
    },
  ),
);

const renameTable = fc.tuple(id, id).map(([from, to]) =>
  command(
    `rename table ${key(from)} ${key(to)}`,
    (model) => {
      if (!model.tables.has(key(from))) return model.namespaces.has(parentOf(from)) ? 4 : 1;
      if (!model.namespaces.has(parentOf(to))) return 1;
      if (model.tables.has(key(to))) return 5;
      model.tables.delete(key(from));
      model.tables.add(key(to));
      return to;
    },
    async ({ other }) => (await other.catalog.renameTable(from, to)).id,
  ),
);

const list = fc
  .tuple(path, fc.integer({ min: 1, max: 4 }), fc.constantFrom("namespaces", "tables"))
  .map(([p, limit, of]) =>
    command(
      `list ${of} ${key(p)} by ${limit}`,
      (model) => {
        if (!model.namespaces.has(key(p))) return 1;
        return model.children(p, of === "tables" ? model.tables : model.namespaces);
      },
      async ({ store: { catalog } }) => {
        const names: string[] = [];
        let pageToken = "";
        do {
          const request = { limit, pageToken };
          const page = await (of === "tables"
            ? catalog.listTables(p, request)
            : catalog.listNamespaces(p, request));
          names.push(...page.items);
          pageToken = page.pageToken ?? "";
        } while (pageToken);
        return names;
      },
    ),
  );

const listAll = fc.constant(
  command(
    "list all tables",
    (model) => bySize(model.below([], model.tables)),
    async ({ store }) => bySize((await store.catalog.listAllTables({})).items),
  ),
);

const commands = fc.commands(
  [
    createNamespace,
    createTable,
    createNamespace,
    createTable,
    dropNamespace,
    findTable,
    dropTable,
    renameTable,
    list,
    listAll,
  ],
  { maxCommands: 60, size: "max" },
);

describe("the catalog after any sequence of changes", () => {
  describeOnEachDatabase((newCatalog, kind) => {
    it("matches a simple model on both of its connections", async () => {
      const seed = Number(process.env.JOUST_TEST_SEED ?? Date.now() % 2 ** 31);
      console.log(`model test on ${kind}: JOUST_TEST_SEED=${seed}`);
      const open = newCatalog();
      const store = await open.open();
      const other = await open.open("tool");
      const clear = async () => {
        for (const name of (await store.catalog.listNamespaces([], {})).items) {
          await store.catalog.dropNamespace([name], { missing: "fail", behavior: "cascade" });
        }
        for (const name of (await store.catalog.listTables([], {})).items) {
          await store.catalog.dropTable([name]);
        }
      };
      await fc.assert(
        fc.asyncProperty(commands, async (sequence) => {
          await clear();
          await fc.asyncModelRun(() => ({ model: new Model(), real: { store, other } }), sequence);
        }),
        { seed, numRuns: kind === "sqlite" ? 60 : 30, endOnFailure: true },
      );
    }, 120_000);
  });
});
