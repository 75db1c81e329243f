import { type Static, Type } from "@sinclair/typebox";
import { accessTo, type Requirement } from "../../api/access.js";
import { belowDatabase, inDatabase } from "../../api/database.js";
import { operation } from "../../api/operation.js";
import { branch, commonMembers, count, delimiter, transactionId } from "../../api/schemas.js";
import type { Services } from "../../api/services.js";
import type { Declaration, TableRecord } from "../../catalog/catalog.js";
import { tableExists } from "../../catalog/failures.js";
import { namespaceObject, SERVER, tableObject } from "../../catalog/grants/grants.js";
import { checkTableId } from "../../catalog/names.js";
import type { VersionRange } from "../../engine/index.js";
import { ErrorCode, hasCode, invalidInput } from "../../foundation/errors.js";
import { hasServerProperties } from "../../maintenance/settings.js";
import { onDeclared, onTable } from "../../tables/open-table.js";
import { changingReferences, endTableWork } from "../../tables/table-writes.js";
import { onBranch } from "../../tables/target.js";
import { checkEmptyLocation } from "../tables/registration/empty-location.js";
import {
  declaration,
  declared,
  declaredEntry,
  deregistered,
  deregisteredEntry,
  isAdministrative,
} from "../tables/registration/registration-entries.js";
import { type NewVersion, newVersion, publishVersions } from "./publish-version.js";
import { tableVersion, versionEntry } from "./version-entry.js";
import { readRanges, versionRanges } from "./version-ranges.js";

/** The common members of a step. Each step is a complete request, so it names its table. */
const stepMembers = { ...commonMembers, id: Type.Array(Type.String(), { minItems: 1 }) };

const step = Type.Object(
  {
    declare_table: Type.Optional(Type.Composite([Type.Object(stepMembers), declaration])),
    create_table_version: Type.Optional(Type.Object({ ...stepMembers, ...newVersion })),
    delete_table_versions: Type.Optional(
      Type.Object({ ...stepMembers, branch, ranges: versionRanges }),
    ),
    deregister_table: Type.Optional(Type.Object(stepMembers)),
  },
  { description: "has exactly one member" },
);

type Step = Static<typeof step>;

const stepResult = Type.Object({
  declare_table: Type.Optional(declared),
  create_table_version: Type.Optional(Type.Object({ version: tableVersion })),
  delete_table_versions: Type.Optional(Type.Object({ deleted_count: count })),
  deregister_table: Type.Optional(deregistered),
});

/**
 * Guarantees: the server checks all steps first, so a request that fails a check has no effect. Then it publishes the
 * versions; if a later step fails, it withdraws them (see `publishVersions`). Then it declares and deregisters tables in
 * one catalog transaction. Last it deletes versions. A deletion can only fail if the store fails or if another client
 * has just tagged a version; the reply then reports the failure, and the earlier steps remain in effect.
 */
export const batchCommitTables = operation({
  id: "BatchCommitTables",
  methods: ["POST"],
  path: "/v1/table/batch-commit",
  summary: "Declare and deregister tables, create and delete versions: all or nothing",
  tag: "Table",
  params: Type.Object({ delimiter }),
  body: {
    kind: "json",
    schema: Type.Object({ operations: Type.Array(step, { minItems: 1 }) }),
  },
  reply: Type.Object({ transaction_id: transactionId, results: Type.Array(stepResult) }),
  access: {
    ...accessTo("body"),
    sometimes: ["create", "insert", "update", "delete"],
    also: ({ payload }) => payload.operations.flatMap(requirementsOf),
  },
  administrative: {
    to: "deregister tables, delete versions, choose locations, or set properties that start with `joust.`",
    includes: ({ payload }) =>
      payload.operations.some(
        ({ declare_table, delete_table_versions, deregister_table }) =>
          deregister_table !== undefined ||
          delete_table_versions !== undefined ||
          (declare_table !== undefined && isAdministrative(declare_table)),
      ),
  },
  contentNames: {
    body: ({ operations, ...rest }, database) => ({
      ...rest,
      operations: operations.map((one: Step) => ofEachMember(one, database, inDatabase)),
    }),
    reply: ({ results, ...rest }, database) => ({
      ...rest,
      results: results.map((one: Record<string, { id?: string[] }>) =>
        ofEachMember(one, database, belowDatabase),
      ),
    }),
  },
  limited: ["storage"],
  // A declared table holds nothing. The other steps add nothing.
  storedTables: ({ payload }) =>
    payload.operations.flatMap(({ create_table_version: one }) => (one ? [one] : [])),
  uses: ["catalog", "config", "engine", "jobs", "log", "maintenance", "threads"],
  async handle(services, { callerId, payload }) {
    const { operations } = payload;
    checkSteps(operations);
    const declare = await checkDeclarations(services, callerId, operations);
    const deregister = operations.flatMap(({ deregister_table: one }) => (one ? [one.id] : []));
    for (const id of deregister) await onDeclared(services, id, async () => {});
    const deletions = operations.flatMap(({ delete_table_versions: one }) =>
      one ? [{ ...one, ranges: readRanges(one.ranges) }] : [],
    );
    for (const one of deletions) await checkDeletion(services, one);

    const versions = operations.flatMap(({ create_table_version: one }): NewVersion[] =>
      one ? [one] : [],
    );
    const { published, result } = await publishVersions(services, versions, () =>
      services.catalog.changeTables({ declare, deregister }),
    );
    for (const record of result.deregistered) await endTableWork(services, record);
    const deleted: number[] = [];
    for (const one of deletions) deleted.push(await deleteVersions(services, one));

    // The results of each kind are in the order of the request.
    const results = operations.map((one): Static<typeof stepResult> => {
      if (one.declare_table) {
        const record = result.declared.shift() as TableRecord;
        return { declare_table: declaredEntry(services, record) };
      }
      if (one.deregister_table) {
        const record = result.deregistered.shift() as TableRecord;
        return { deregister_table: deregisteredEntry(record) };
      }
      if (one.delete_table_versions) {
        return { delete_table_versions: { deleted_count: deleted.shift() as number } };
      }
      const version = published.shift() as (typeof published)[number];
      return { create_table_version: { version: versionEntry(version) } };
    });
    return { kind: "json", value: { results } };
  },
});

/** The members of a step or of its result, each with another id. */
const ofEachMember = <T extends { id?: string[] }>(
  step: Record<string, unknown>,
  database: readonly string[],
  change: (member: T, database: readonly string[]) => T,
) =>
  Object.fromEntries(
    Object.entries(step).map(([kind, member]) => [
      kind,
      member === undefined ? member : change(member as T, database),
    ]),
  );

/** What the members of a step need: also those of a step that `checkSteps` refuses. */
function requirementsOf({
  declare_table: declared,
  create_table_version: created,
  delete_table_versions: deleted,
  deregister_table: deregistered,
}: Step): Requirement[] {
  const requirements: Requirement[] = [];
  if (declared) {
    const object = namespaceObject(declared.id.slice(0, -1));
    requirements.push({ object, privileges: ["create"] });
    if (hasServerProperties(declared.properties)) {
      requirements.push({ object, privileges: ["manage"] });
    }
    if (declared.location !== undefined) {
      requirements.push({ object: SERVER, privileges: ["manage"] });
    }
  }
  if (created) {
    const privileges = ["insert", "update", "delete"] as const;
    requirements.push({ object: tableObject(created.id), privileges });
  }
  for (const one of [deleted, deregistered]) {
    if (one) requirements.push({ object: tableObject(one.id), privileges: ["manage"] });
  }
  return requirements;
}

/** @throws code 13 unless each step has one member and each table one step, or several steps that create versions */
function checkSteps(steps: readonly Step[]): void {
  const kinds = new Map<string, string>();
  for (const [at, one] of steps.entries()) {
    const members = Object.entries(one).filter(([, value]) => value !== undefined);
    const [kind, request] = members[0] ?? [];
    const isKnown = kind !== undefined && Object.hasOwn(step.properties, kind);
    if (members.length !== 1 || !isKnown || request === undefined) {
      throw invalidInput(
        `operations.${at} must have exactly one of declare_table, create_table_version, delete_table_versions, deregister_table`,
      );
    }
    const name = JSON.stringify(request.id);
    const other = kinds.get(name);
    if (other !== undefined && !(other === kind && kind === "create_table_version")) {
      throw invalidInput(
        `operations.${at} names the same table as another operation of this request: send two requests`,
      );
    }
    kinds.set(name, kind);
  }
}

async function checkDeclarations(
  services: Pick<Services, "catalog" | "config" | "engine">,
  creator: string,
  steps: readonly Step[],
): Promise<Declaration[]> {
  const checked: Declaration[] = [];
  for (const { declare_table: one } of steps) {
    if (!one) continue;
    checkTableId(one.id);
    const location = await checkEmptyLocation(services, one.location);
    if (await isNameUsed(services, one.id)) throw tableExists(one.id);
    checked.push({ id: one.id, location, properties: one.properties ?? {}, creator });
  }
  return checked;
}

/** @throws code 1 if the namespace does not exist */
async function isNameUsed(
  services: Pick<Services, "catalog">,
  id: readonly string[],
): Promise<boolean> {
  try {
    await services.catalog.table(id);
    return true;
  } catch (error) {
    if (hasCode(error, ErrorCode.TableNotFound)) return false;
    throw error;
  }
}

interface Deletion {
  id: readonly string[];
  branch?: string | undefined;
  ranges: VersionRange[];
}

const checkDeletion = (
  services: Pick<Services, "catalog" | "config" | "engine">,
  { id, branch, ranges }: Deletion,
) => onTable(services, id, ({ table }) => onBranch(table, branch).countDeletable(ranges));

const deleteVersions = (
  services: Pick<Services, "catalog" | "config" | "engine" | "maintenance">,
  { id, branch, ranges }: Deletion,
) =>
  changingReferences(services, id, ({ table }) => onBranch(table, branch).deleteVersions(ranges));
