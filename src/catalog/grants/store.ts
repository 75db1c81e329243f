import { type RawBuilder, sql } from "kysely";
import type { CatalogDatabase, Write } from "../../database/database.js";
import type { GrantsRow } from "../../database/schema.js";
import { available } from "../../database/sql-error.js";
import { invalidInput } from "../../foundation/errors.js";
import type { Page, PageRequest } from "../catalog.js";
import { namespaceNotFound } from "../failures.js";
import { describeNamespace, findTable, missingTable } from "../lookup.js";
import { decodePageToken, encodePageToken, pageSize } from "../page-token.js";
import { decodePath, encodePath } from "../path.js";
import { liveTable } from "../tables/live-table.js";
import { type CachedGrants, cachedGrants } from "./cache.js";
import { type GrantRow, grantRows } from "./grant-rows.js";
import {
  type GrantEntry,
  type GrantedKey,
  type GrantFilter,
  type Grants,
  type KeySelector,
  namespaceObject,
  SERVER,
  type SecuredObject,
} from "./grants.js";
import type { HeldGrants } from "./held-grants.js";
import {
  privileges as allPrivileges,
  checkFilterable,
  isPrivilege,
  type Privilege,
} from "./privileges.js";

/** The columns of `grants` that name an object. */
type ObjectColumns = Pick<GrantsRow, "object" | "namespace" | "table_key">;

const MAX_SUBJECT_LENGTH = 1_000;
const MAX_FILTER_LENGTH = 10_000;

/** The grants in the catalog's database. */
export class SqlGrants implements Grants {
  readonly #cache: CachedGrants;

  constructor(private readonly db: CatalogDatabase) {
    this.#cache = cachedGrants(db, (subjects) => this.rowsOf(subjects));
  }

  version(): number | undefined {
    return this.#cache.version();
  }

  heldSync(subjects: readonly string[]): readonly HeldGrants[] | undefined {
    return this.#cache.heldSync(subjects);
  }

  held(subjects: readonly string[]): Promise<readonly HeldGrants[]> {
    return this.#cache.held(subjects);
  }

  /** The stored grants of some subjects, for the cache of this thread or of another one. */
  async rowsOf(subjects: readonly string[]): Promise<GrantRow[]> {
    if (subjects.length === 0) return [];
    return available(grantRows(this.db).where("subject", "in", subjects).execute());
  }

  async grant(
    subject: string,
    object: SecuredObject,
    privileges: readonly Privilege[],
    filter?: string,
  ): Promise<Privilege[]> {
    checkSubject(subject);
    if (filter !== undefined) checkFilter(filter, privileges);
    const granted = await this.#change(object, async (t, columns) => {
      await checkKeyExists(t, subject);
      const rows = privileges.map((privilege) => ({
        ...columns,
        subject,
        privilege,
        row_filter: filter ?? null,
        created_at: Date.now(),
      }));
      return t
        .insertInto("grants")
        .values(rows)
        .onConflict((c) =>
          c
            .columns(["subject", "object", "privilege"])
            .doUpdateSet({ row_filter: (e) => e.ref("excluded.row_filter") })
            .where(sql<boolean>`grants.row_filter is distinct from excluded.row_filter`),
        )
        .returning("privilege")
        .execute();
    });
    return granted;
  }

  revoke(
    subject: string,
    object: SecuredObject,
    privileges: readonly Privilege[],
  ): Promise<Privilege[]> {
    return this.#change(object, (t, columns) =>
      t
        .deleteFrom("grants")
        .where("subject", "=", subject)
        .where("object", "=", columns.object)
        .where("privilege", "in", privileges)
        .returning("privilege")
        .execute(),
    );
  }

  /** Changes the grants on one object. Returns the privileges of the changed rows. */
  async #change(
    object: SecuredObject,
    change: (t: Write, columns: ObjectColumns) => Promise<{ privilege: string }[]>,
  ): Promise<Privilege[]> {
    const rows = await this.db.write(async (t) => {
      const columns = await columnsOf(this.db, t, object);
      return columns && change(t, columns);
    });
    if (rows === undefined) throw await missingObject(this.db, object);
    this.#cache.clear();
    const changed = new Set(rows.map(({ privilege }) => privilege));
    return allPrivileges.filter((privilege) => changed.has(privilege));
  }

  async list(filter: GrantFilter, page: PageRequest): Promise<Page<GrantEntry>> {
    const { subject, object } = filter;
    const text = object && (await this.#objectText(object));
    const listing = `grants ${JSON.stringify([subject ?? null, text ?? null])}`;
    const size = pageSize(page.limit);
    const after = decodePageToken(listing, 3, page.pageToken);
    const rowFilter = sql<string>`coalesce(grants.row_filter, '')`;
    const rows = await available(
      this.db.read
        .selectFrom("grants")
        .leftJoin("tables", "tables.key", "grants.table_key")
        .select(["grants.subject", "grants.object", "grants.namespace", "grants.table_key"])
        .select(["tables.namespace as table_namespace", "tables.name as table_name"])
        .select([joined(this.db.kind).as("privileges"), rowFilter.as("row_filter")])
        .where((e) => e.or([e("table_key", "is", null), e("tables.state", "=", "live")]))
        .$if(subject !== undefined, (query) => query.where("grants.subject", "=", subject ?? ""))
        .$if(text !== undefined, (query) => query.where("object", "=", text ?? ""))
        .$if(after !== undefined, (query) =>
          query.where(
            sql<boolean>`(grants.subject, grants.object, ${rowFilter}) > (${after?.[0]}, ${after?.[1]}, ${after?.[2]})`,
          ),
        )
        .groupBy(["grants.subject", "grants.object", "grants.namespace", "grants.table_key"])
        .groupBy(["tables.namespace", "tables.name", "grants.row_filter"])
        .orderBy("grants.subject")
        .orderBy("grants.object")
        .orderBy(rowFilter)
        .limit(size + 1)
        .execute(),
    );
    const shown = rows.slice(0, size);
    const last = rows.length > size ? shown.at(-1) : undefined;
    return {
      items: shown.map((row) => ({
        subject: row.subject,
        object: objectOf(row),
        privileges: inOrder(row.privileges.split(",")),
        ...(row.row_filter !== "" && { filter: row.row_filter }),
      })),
      ...(last && {
        pageToken: encodePageToken(listing, [last.subject, last.object, last.row_filter]),
      }),
    };
  }

  /** @throws code 1 or 4 */
  async #objectText(object: SecuredObject): Promise<string> {
    if (object.kind === "server") return "server";
    if (object.kind === "table") return `table:${(await findTable(this.db, object.id)).key}`;
    await describeNamespace(this.db, object.path);
    return `namespace:${encodePath(object.path)}`;
  }

  async findKeys(by: KeySelector): Promise<GrantedKey[]> {
    const keys = this.db.read.selectFrom("api_keys").select(["id", "name", "role"]).orderBy("id");
    if ("name" in by) return available(keys.where("name", "=", by.name).execute());
    if ("hash" in by) return available(keys.where("hash", "=", by.hash).execute());
    return by.ids.length === 0 ? [] : available(keys.where("id", "in", by.ids).execute());
  }
}

const joined = (kind: "sqlite" | "postgres"): RawBuilder<string> =>
  kind === "sqlite"
    ? sql<string>`group_concat(grants.privilege)`
    : sql<string>`string_agg(grants.privilege, ',')`;

const inOrder = (names: readonly string[]): Privilege[] => {
  const known = new Set(names.filter(isPrivilege));
  return allPrivileges.filter((privilege) => known.has(privilege));
};

/** The columns of grants on an object; undefined if it does not exist. Locks a table. */
async function columnsOf(
  db: CatalogDatabase,
  t: Write,
  object: SecuredObject,
): Promise<ObjectColumns | undefined> {
  if (object.kind === "server") return { object: "server", namespace: null, table_key: null };
  if (object.kind === "table") {
    const row = object.id.length > 0 ? await liveTable(db, t, object.id) : undefined;
    return row && { object: `table:${row.key}`, namespace: null, table_key: row.key };
  }
  const path = encodePath(object.path);
  const row = await t
    .selectFrom("namespaces")
    .select("path")
    .where("path", "=", path)
    .executeTakeFirst();
  return row && { object: `namespace:${path}`, namespace: path, table_key: null };
}

const missingObject = async (db: CatalogDatabase, object: SecuredObject) =>
  object.kind === "table"
    ? missingTable(db, object.id)
    : namespaceNotFound(object.kind === "namespace" ? object.path : []);

function objectOf(
  row: Pick<GrantsRow, "namespace" | "table_key"> & {
    table_namespace: string | null;
    table_name: string | null;
  },
): SecuredObject {
  if (row.table_key !== null) {
    return { kind: "table", id: [...decodePath(row.table_namespace ?? ""), row.table_name ?? ""] };
  }
  return row.namespace === null ? SERVER : namespaceObject(decodePath(row.namespace));
}

/** @throws code 13 */
function checkSubject(subject: string): void {
  if (/^(key|user|group):./.test(subject) && subject.length <= MAX_SUBJECT_LENGTH) return;
  throw invalidInput(
    `a subject is key:ID, user:ISSUER#SUBJECT or group:NAME with at most ${MAX_SUBJECT_LENGTH} characters, not ${JSON.stringify(subject.slice(0, 80))}`,
  );
}

/** @throws code 13 */
function checkFilter(filter: string, privileges: readonly Privilege[]): void {
  if (filter.trim() === "" || filter.length > MAX_FILTER_LENGTH) {
    throw invalidInput(
      `a row filter is a SQL condition with at most ${MAX_FILTER_LENGTH} characters`,
    );
  }
  checkFilterable(privileges);
}

/** @throws code 13 for a key that the catalog does not have: a later key cannot get its id */
async function checkKeyExists(t: Write, subject: string): Promise<void> {
  if (!subject.startsWith("key:")) return;
  const id = subject.slice("key:".length);
  const row = await t.selectFrom("api_keys").select("id").where("id", "=", id).executeTakeFirst();
  if (row) return;
  throw invalidInput(
    `there is no key with the id ${JSON.stringify(id)}: joust key list shows the ids`,
  );
}
