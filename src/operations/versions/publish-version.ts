import { type Static, Type } from "@sinclair/typebox";
import { branch, mapOf } from "../../api/schemas.js";
import type { Services } from "../../api/services.js";
import { parseChoice } from "../../api/validation/choice.js";
import type { Table, TableVersion } from "../../engine/index.js";
import { invalidInput } from "../../foundation/errors.js";
import { type OpenTable, onDeclared } from "../../tables/open-table.js";
import { changingTable } from "../../tables/table-writes.js";
import { branchName, checkVersion, onBranch } from "../../tables/target.js";

/** The members of a request to create one version. */
export const newVersion = {
  branch,
  version: Type.Integer({ minimum: 0, description: "version number of the manifest" }),
  manifest_path: Type.String({
    minLength: 1,
    description:
      "path of the manifest that the client wrote: in the table's store, inside the table",
  }),
  manifest_size: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: "size of the manifest in bytes; the server checks it",
    }),
  ),
  e_tag: Type.Optional(
    Type.String({ description: "ignored: the server compares the contents of the manifest" }),
  ),
  metadata: Type.Optional(
    mapOf(Type.String(), {
      description: "ignored: the manifest contains the metadata of the version",
    }),
  ),
  naming_scheme: Type.Optional(
    Type.String({
      description: "V1 or V2: naming scheme of the manifest; default: that of the table",
    }),
  ),
};

const newVersionObject = Type.Object(newVersion);
export type NewVersion = Static<typeof newVersionObject> & { id: readonly string[] };

/** Publishes one version. @throws code 14 if it exists with another manifest */
export async function publishVersion(
  services: Pick<Services, "catalog" | "config" | "engine" | "maintenance">,
  request: NewVersion,
): Promise<TableVersion> {
  return changeTable(services, request.id, async ({ record, table }) => {
    const version = await publishOn({ record, table }, request);
    if (record.declared) await services.catalog.confirmTable(record.key);
    return version;
  });
}

/**
 * Publishes several versions, or none. The server checks all of them first. Then it publishes one after the other (each
 * is visible at once). If one fails, the server withdraws those before it. It cannot withdraw a version on which
 * another writer has built the next one: that version remains, and the reply reports the failure.
 *
 * `next` must also succeed; if it fails, the server withdraws the versions.
 */
export async function publishVersions<T>(
  services: Pick<Services, "catalog" | "config" | "engine" | "log" | "maintenance">,
  requests: readonly NewVersion[],
  next: () => Promise<T>,
): Promise<{ published: TableVersion[]; result: T }> {
  checkDistinct(requests);
  const existing = new Set<NewVersion>();
  for (const request of requests) {
    if (await isPublished(services, request)) existing.add(request);
  }
  const published: TableVersion[] = [];
  try {
    for (const request of requests) {
      const publish = (open: OpenTable) => publishOn(open, request);
      published.push(await changeTable(services, request.id, publish));
    }
    const result = await next();
    await confirmTables(services, requests);
    return { published, result };
  } catch (error) {
    for (const request of requests.slice(0, published.length).reverse()) {
      if (!existing.has(request)) await withdrawVersion(services, request);
    }
    throw error;
  }
}

const changeTable = <T>(
  services: Pick<Services, "catalog" | "config" | "engine" | "maintenance">,
  id: readonly string[],
  work: (open: OpenTable) => Promise<T>,
): Promise<T> => changingTable(services, id, undefined, work, onDeclared);

function publishOn(open: OpenTable, request: NewVersion): Promise<TableVersion> {
  return onVersion(open, request, (table, ...version) => table.publishVersion(...version));
}

/**
 * Whether the version exists with the client's manifest. @throws the errors of its creation: code 1, 4 or 22 if the
 * table or branch does not exist, 14 if the version has another manifest
 */
function isPublished(
  services: Pick<Services, "catalog" | "config" | "engine">,
  request: NewVersion,
): Promise<boolean> {
  return onDeclared(services, request.id, (open) =>
    onVersion(open, request, (table, ...version) => table.isPublished(...version)),
  );
}

/** Calls the engine with the arguments of a new version. */
async function onVersion<T>(
  open: OpenTable,
  { branch, version, manifest_path, manifest_size, naming_scheme: scheme }: NewVersion,
  call: (table: Table, ...version: Parameters<Table["publishVersion"]>) => Promise<T>,
): Promise<T> {
  const v1 =
    scheme === undefined ? undefined : parseChoice("naming_scheme", scheme, ["V1", "V2"]) === "V1";
  const table = onBranch(open.table, branch);
  // Fails if the branch does not exist: publishing a version must not create a branch.
  if (branchName(branch) !== undefined) await table.describe();
  return call(table, checkVersion(version), manifest_path, manifest_size, v1);
}

function checkDistinct(requests: readonly NewVersion[]): void {
  const seen = new Set<string>();
  for (const { id, branch, version } of requests) {
    const name = JSON.stringify([id, branchName(branch) ?? null, version]);
    if (seen.has(name)) {
      throw invalidInput(
        `version ${version} of ${JSON.stringify(id.join("$"))} appears twice: send it once`,
      );
    }
    seen.add(name);
  }
}

async function confirmTables(
  services: Pick<Services, "catalog" | "config" | "engine">,
  requests: readonly NewVersion[],
): Promise<void> {
  for (const { id } of requests) {
    await onDeclared(services, id, async ({ record }) => {
      if (record.declared) await services.catalog.confirmTable(record.key);
    });
  }
}

async function withdrawVersion(
  services: Pick<Services, "catalog" | "config" | "engine" | "log" | "maintenance">,
  { id, branch, version, manifest_path }: NewVersion,
): Promise<void> {
  try {
    await changeTable(services, id, ({ table }) =>
      onBranch(table, branch).withdrawVersion(version, manifest_path),
    );
  } catch (err) {
    services.log.warn({ err, table: id, version }, "a version could not be withdrawn");
  }
}
