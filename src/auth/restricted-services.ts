import type { AccessObject } from "../api/access.js";
import type { Call, Operation } from "../api/operation.js";
import type { Services } from "../api/services.js";
import type { Catalog, RowRestriction, TableId, TableRecord } from "../catalog/catalog.js";
import { namespaceNotFound, tableNotFound } from "../catalog/failures.js";
import type { CallerPrivileges } from "../catalog/grants/caller-privileges.js";
import { describeObject, tableObject } from "../catalog/grants/grants.js";
import {
  bitOf,
  covers,
  FILTERED,
  NO_PRIVILEGES,
  type PrivilegeSet,
} from "../catalog/grants/privileges.js";
import { encodePath } from "../catalog/path.js";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import { override } from "../foundation/override.js";
import { visibleJobs } from "./visible-jobs.js";

/**
 * The services of a request whose caller has no role. The catalog and the jobs show only what the caller may see, also to
 * a handler that resolves names in the content of its request: SQL, sources of views and of clones. Such a table also
 * needs `select`; if that has a row filter, only a handler that declares to apply it gets the table. The declared access
 * covers the object in the path, and the objects in the body of the operations that declare them.
 */
export function restrictedServices(
  services: Services,
  privileges: CallerPrivileges,
  operation: Operation,
  call: Pick<Call<unknown, unknown>, "id">,
): Services {
  const object = encodePath(call.id);
  const isDeclared = (id: TableId) =>
    contentIsDeclared.has(operation.access.on) || (id.length > 0 && encodePath(id) === object);
  const { on, rows } = operation.access;
  const appliesFilters = on === "named tables" && rows?.includes("select") === true;
  const view = new VisibleCatalog(services.catalog, privileges, isDeclared, appliesFilters);
  return {
    ...services,
    catalog: override(services.catalog, {
      table: (id) => view.table(id),
      tableSync: (id) => view.tableSync(id),
      tableAt: (location) => view.tableAt(location),
      describeNamespace: (path) => {
        if (!privileges.seesNamespace(path)) return Promise.reject(namespaceNotFound(path));
        return services.catalog.describeNamespace(path);
      },
      listNamespaces: async (parent, page) => {
        if (!privileges.seesNamespace(parent)) throw namespaceNotFound(parent);
        return services.catalog.listNamespaces(parent, page, visibility(privileges));
      },
      listTables: async (parent, page, options) => {
        if (!privileges.seesNamespace(parent)) throw namespaceNotFound(parent);
        return services.catalog.listTables(parent, page, {
          declared: true,
          ...options,
          ...visibility(privileges),
        });
      },
      listAllTables: (page, options) =>
        services.catalog.listAllTables(page, {
          declared: true,
          ...options,
          ...visibility(privileges),
        }),
    }),
    // Few requests need it.
    get jobs() {
      const readable = new VisibleCatalog(services.catalog, privileges, () => false, false);
      return override(services.jobs, visibleJobs(services, privileges, readable));
    },
  };
}

/** The services of a request that may use some rows of one table only. */
export function servicesForRows(
  services: Services,
  { id, key }: Pick<TableRecord, "id" | "key">,
  restriction: RowRestriction,
): Services {
  const { catalog } = services;
  const path = encodePath(id);
  const restricted = (record: TableRecord): TableRecord => {
    if (encodePath(record.id) !== path) return record;
    // The grants are those on a former table of this name.
    if (record.key !== key) throw tableNotFound(id);
    if (record.declared && restriction.filters) throw noColumnsYet(id);
    return { ...record, restriction };
  };
  return {
    ...services,
    catalog: override(catalog, {
      table: async (other) => restricted(await catalog.table(other)),
      tableSync: (other) => {
        const record = catalog.tableSync(other);
        return record && restricted(record);
      },
      tableAt: async (location) => {
        const record = await catalog.tableAt(location);
        return record && restricted(record);
      },
    }),
  };
}

const noColumnsYet = (id: TableId): JoustError =>
  new JoustError(
    ErrorCode.PermissionDenied,
    `${describeObject(tableObject(id))} has no version yet, so a grant with a row filter gives nothing on it`,
  );

/** The declared access covers all tables that these handlers resolve; a listing of views opens them only to tell views. */
const contentIsDeclared: ReadonlySet<AccessObject> = new Set<AccessObject>(["body", "namespace"]);

const visibility = (privileges: CallerPrivileges) => {
  const visible = privileges.visible();
  return visible ? { visible } : {};
};

class VisibleCatalog {
  /** The last table that the caller was found to read. The catalog makes another record after each commit. */
  #read: TableRecord | undefined;

  constructor(
    private readonly catalog: Catalog,
    private readonly privileges: CallerPrivileges,
    /** Whether the declared access covers a table. */
    private readonly isDeclared: (id: TableId) => boolean,
    /** Whether the handler applies the row filters of the tables that it reads. */
    private readonly appliesFilters: boolean,
  ) {}

  async table(id: TableId): Promise<TableRecord> {
    const held = await this.privileges.onTable(id, this.catalog);
    if (held === NO_PRIVILEGES) {
      const parent = id.slice(0, -1);
      throw this.privileges.seesNamespace(parent) ? tableNotFound(id) : namespaceNotFound(parent);
    }
    if (this.#mayRead(id, held)) return this.catalog.table(id);
    if (!this.appliesFilters || !covers(held, FILTERED)) throw selectNeeded(id);
    return this.#withFilters(await this.catalog.table(id));
  }

  #withFilters(record: TableRecord): TableRecord {
    const filters = this.privileges.filtersOn(record, "select");
    if (filters.length === 0) throw selectNeeded(record.id);
    if (record.declared) throw noColumnsYet(record.id);
    return { ...record, restriction: { filters } };
  }

  /** Undefined also for a table that the caller may not read: `table` then reports it. */
  tableSync(id: TableId): TableRecord | undefined {
    const read = this.#read;
    if (read && this.catalog.tableSync(id) === read) return read;
    const held = this.privileges.onTableSync(id, this.catalog) ?? NO_PRIVILEGES;
    if (held === NO_PRIVILEGES || !this.#mayRead(id, held)) return undefined;
    this.#read = this.catalog.tableSync(id);
    return this.#read;
  }

  async tableAt(location: string): Promise<TableRecord | undefined> {
    const record = await this.catalog.tableAt(location);
    if (!record) return undefined;
    const held = await this.privileges.onTable(record.id, this.catalog);
    if (held === NO_PRIVILEGES) return undefined;
    if (!this.#mayRead(record.id, held)) throw selectNeeded(record.id);
    return record;
  }

  #mayRead(id: TableId, held: PrivilegeSet): boolean {
    return this.isDeclared(id) || covers(held, bitOf("select"));
  }
}

const selectNeeded = (id: TableId): JoustError =>
  new JoustError(
    ErrorCode.PermissionDenied,
    `the request reads ${describeObject(tableObject(id))}, which needs the privilege select on it`,
  );
