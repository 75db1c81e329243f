import { type Static, Type } from "@sinclair/typebox";
import { branch, mapOf } from "../../api/schemas.js";
import type { Services } from "../../api/services.js";
import { parseChoice } from "../../api/validation/choice.js";
import type { Table, TableVersion } from "../../engine/index.js";
import { invalidInput } from "../../foundation/errors.js";
import { type OpenTable, onDeclared } from "../../tables/open-table.js";
import { changingTable } from "../../tables/table-writes.js";
import { branchName, checkVersion, onBranch } from "../../tables/target.js";

/** Members of a request for one version. */
export const newVersion = {
  branch,
  version: Type.Integer({ minimum: 0, description: "the version the manifest is of" }),
  manifest_path: Type.String({
    minLength: 1,
    description: "where the client wrote the manifest: a path in the table's store, in the table",
  }),
  manifest_size: Type.Optional(
    Type.Integer({ minimum: 0, description: "bytes of the manifest; must be true" }),
  ),
  e_tag: Type.Optional(
    Type.String({ description: "taken and ignored: what the manifest holds is compared" }),
  ),
  metadata: Type.Optional(
    mapOf(Type.String(), {
      description: "taken and ignored: what the manifest says of the version counts",
    }),
  ),
  naming_scheme: Type.Optional(
    Type.String({
      description: "V1 or V2: how the manifest is named; default: as the table's are",
    }),
  ),
};

const newVersionObject = Type.Object(newVersion);
export type NewVersion = Static<typeof newVersionObject> & { id: readonly string[] };

/** Makes one version. @throws code 14 when it exists with another manifest, whatever the client's is */
export async function publishVersion(
  services: Pick<Services, "catalog" | "config" | "engine" | "maintenance">,
  wanted: NewVersion,
): Promise<TableVersion> {
  return changing(services, wanted.id, async ({ record, table }) => {
    const made = await publishOn({ record, table }, wanted);
    if (record.declared) await services.catalog.confirmTable(record.key);
    return made;
  });
}

/**
 * Makes several versions, or none. Everything that can be checked is checked before anything is
 * made; then they are made one after the other (others see them one by one), and when one fails,
 * those before it are taken back. What cannot be taken back is a version on which somebody else has
 * built the next one meanwhile: then the failure is answered, and that version stays.
 *
 * `next` is what has to succeed as well; its failure takes the versions back.
 */
export async function publishVersions<T>(
  services: Pick<Services, "catalog" | "config" | "engine" | "log" | "maintenance">,
  wanted: readonly NewVersion[],
  next: () => Promise<T>,
): Promise<{ made: TableVersion[]; result: T }> {
  checkDistinct(wanted);
  const known = new Set<NewVersion>();
  for (const one of wanted) if (await isPublished(services, one)) known.add(one);
  const made: TableVersion[] = [];
  try {
    for (const one of wanted) {
      made.push(await changing(services, one.id, (open) => publishOn(open, one)));
    }
    const result = await next();
    await confirm(services, wanted);
    return { made, result };
  } catch (error) {
    for (const one of wanted.slice(0, made.length).reverse()) {
      if (!known.has(one)) await withdraw(services, one);
    }
    throw error;
  }
}

const changing = <T>(
  services: Pick<Services, "catalog" | "config" | "engine" | "maintenance">,
  id: readonly string[],
  work: (open: OpenTable) => Promise<T>,
): Promise<T> => changingTable(services, id, undefined, work, onDeclared);

function publishOn(open: OpenTable, wanted: NewVersion): Promise<TableVersion> {
  return onVersion(open, wanted, (table, ...version) => table.publishVersion(...version));
}

/**
 * Whether a version has the client's manifest already. @throws what making it would fail with: code 1, 4, 22
 * where there is nothing that could get a version, 14 when the version has another manifest
 */
function isPublished(
  services: Pick<Services, "catalog" | "config" | "engine">,
  wanted: NewVersion,
): Promise<boolean> {
  return onDeclared(services, wanted.id, (open) =>
    onVersion(open, wanted, (table, ...version) => table.isPublished(...version)),
  );
}

/** Calls the engine for a new version. */
async function onVersion<T>(
  open: OpenTable,
  { branch, version, manifest_path, manifest_size, naming_scheme: scheme }: NewVersion,
  call: (table: Table, ...version: Parameters<Table["publishVersion"]>) => Promise<T>,
): Promise<T> {
  const v1 =
    scheme === undefined ? undefined : parseChoice("naming_scheme", scheme, ["V1", "V2"]) === "V1";
  const table = onBranch(open.table, branch);
  // A version must not be what makes a branch.
  if (branchName(branch) !== undefined) await table.describe();
  return call(table, checkVersion(version), manifest_path, manifest_size, v1);
}

function checkDistinct(wanted: readonly NewVersion[]): void {
  const seen = new Set<string>();
  for (const { id, branch, version } of wanted) {
    const name = JSON.stringify([id, branchName(branch) ?? null, version]);
    if (seen.has(name)) {
      throw invalidInput(
        `version ${version} of ${JSON.stringify(id.join("$"))} is asked for twice`,
      );
    }
    seen.add(name);
  }
}

async function confirm(
  services: Pick<Services, "catalog" | "config" | "engine">,
  wanted: readonly NewVersion[],
): Promise<void> {
  for (const { id } of wanted) {
    await onDeclared(services, id, async ({ record }) => {
      if (record.declared) await services.catalog.confirmTable(record.key);
    });
  }
}

async function withdraw(
  services: Pick<Services, "catalog" | "config" | "engine" | "log" | "maintenance">,
  { id, branch, version, manifest_path }: NewVersion,
): Promise<void> {
  try {
    await changing(services, id, ({ table }) =>
      onBranch(table, branch).withdrawVersion(version, manifest_path),
    );
  } catch (err) {
    services.log.warn({ err, table: id, version }, "a version could not be taken back");
  }
}
