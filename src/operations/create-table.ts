import { Type } from "@sinclair/typebox";
import type { TableRecord } from "../catalog/catalog.js";
import type { Upload } from "../engine/index.js";
import { ErrorCode, invalidInput, JoustError } from "../errors.js";
import type { Services } from "../services.js";
import { choice } from "./choice.js";
import { findDeclared, writeFirstVersion } from "./declared-table.js";
import { hasCode } from "./has-code.js";
import { forgetHandle, onTable, storageOptions, tableHandle } from "./open-table.js";
import { operation, type Reply } from "./operation.js";
import { count, stringMap, transactionId } from "./schemas.js";
import { checkStorageOptions, publicStorageOptions } from "./storage-options.js";
import { readStringMap } from "./string-map.js";
import { writing } from "./table-writes.js";
import { versionHeader } from "./target.js";

interface Wanted {
  id: readonly string[];
  properties: Record<string, string>;
  storageOptions: Record<string, string>;
  /** Where the client expects the table; "" when it leaves that to the server. */
  location: string;
}

export const createTable = operation({
  id: "CreateTable",
  methods: ["POST"],
  path: "/v1/table/{id}/create",
  summary: "Create a table from an Arrow IPC stream; a stream without rows makes an empty table",
  tag: "Table",
  params: Type.Object({
    mode: Type.Optional(
      Type.String({
        description:
          "what to do when it exists: Create (default) fails, ExistOk keeps it, Overwrite replaces it",
      }),
    ),
    properties: Type.Optional(
      Type.String({
        description: 'JSON map of strings; also as header "x-lance-table-properties"',
      }),
    ),
    storage_options: Type.Optional(
      Type.String({ description: "JSON map of strings: how this table's files are written" }),
    ),
  }),
  body: { kind: "arrow" },
  reply: Type.Object({
    transaction_id: transactionId,
    location: Type.String(),
    version: count,
    storage_options: Type.Optional(stringMap),
    properties: stringMap,
  }),
  permission: "write",
  async handle(services, call) {
    const mode = choice("mode", call.params.mode ?? "create", ["create", "exist_ok", "overwrite"]);
    const wanted: Wanted = {
      id: call.id,
      properties: {
        ...readStringMap(
          "header x-lance-table-properties",
          call.header("x-lance-table-properties"),
        ),
        ...readStringMap("properties", call.params.properties),
      },
      storageOptions: checkStorageOptions(
        readStringMap("storage_options", call.params.storage_options),
      ),
      location: call.header("x-lance-table-location"),
    };
    const existing = mode === "create" ? undefined : await find(services, call.id);
    if (existing === undefined) return create(services, wanted, call.payload, mode);
    checkLocation(wanted.location, existing.location);
    if (await findDeclared(services, call.id)) {
      return fill(services, wanted, existing, call.payload);
    }
    return mode === "overwrite"
      ? overwrite(services, wanted, call.payload)
      : keep(services, call.id);
  },
});

async function find(services: Services, id: readonly string[]): Promise<TableRecord | undefined> {
  try {
    return await services.catalog.table(id);
  } catch (error) {
    if (hasCode(error, ErrorCode.TableNotFound)) return undefined;
    throw error;
  }
}

/** The name is taken first, the files are written, and only then is there a table to see. */
async function create(
  services: Services,
  wanted: Wanted,
  upload: Upload,
  mode: "create" | "exist_ok" | "overwrite",
): Promise<Reply> {
  let record: TableRecord;
  try {
    record = await services.catalog.reserveTable(wanted.id, wanted);
  } catch (error) {
    if (!hasCode(error, ErrorCode.TableAlreadyExists)) throw error;
    const declared = await findDeclared(services, wanted.id);
    if (declared) return fill(services, wanted, declared, upload);
    if (mode === "create") throw error;
    // It was not there a moment ago.
    throw new JoustError(
      ErrorCode.ConcurrentModification,
      "another request creates a table of that name right now: try again",
    );
  }
  try {
    checkLocation(wanted.location, record.location);
    const written = await tableHandle(services, record).create(upload, false);
    await services.catalog.publishTable(record.key);
    return reply(services, record, written.version);
  } catch (error) {
    await withdraw(services, record, error);
    throw error;
  }
}

/** A declared table keeps what it was declared with. */
async function fill(
  services: Services,
  wanted: Wanted,
  declared: TableRecord,
  upload: Upload,
): Promise<Reply> {
  checkLocation(wanted.location, declared.location);
  const { version } = await writeFirstVersion(services, wanted.id, upload);
  const properties = { ...declared.properties, ...wanted.properties };
  if (Object.keys(wanted.properties).length > 0) {
    await services.catalog.setTableProperties(declared.key, properties);
  }
  return reply(services, { ...declared, properties }, version);
}

/** Leaves neither name nor files of a table that could not be created. */
export async function withdraw(
  services: Services,
  record: TableRecord,
  cause: unknown,
): Promise<void> {
  forgetHandle(services, record.key);
  try {
    // What the engine found at the location is somebody else's table.
    if (!hasCode(cause, ErrorCode.TableAlreadyExists)) {
      await services.engine.removeTable(record.location, storageOptions(services, record));
    }
    await services.catalog.releaseTable(record.key);
  } catch (error) {
    services.log.warn({ err: error, table: record.id }, "files of a failed create remain for now");
    await services.catalog.abandonTable(record.key);
  }
}

/** Content and schema are replaced in one commit; builds on what was there are of no more use. */
function overwrite(services: Services, { id, properties }: Wanted, upload: Upload): Promise<Reply> {
  return writing(services, id, upload, async ({ record, table }) => {
    const { version } = await table.create(upload, true);
    await services.jobs.cancelTable(record.key);
    await services.catalog.setTableProperties(record.key, properties);
    return reply(services, { ...record, properties }, version);
  });
}

function keep(services: Services, id: readonly string[]): Promise<Reply> {
  return onTable(services, id, async ({ record, table }) => {
    const { version } = await table.describe();
    return reply(services, record, version);
  });
}

/** The server chooses locations; a client may only name the one it would choose anyway. */
function checkLocation(expected: string, actual: string): void {
  const plain = (location: string) => location.replace(/^file:\/\//, "").replace(/\/+$/, "");
  if (expected === "" || plain(expected) === plain(actual)) return;
  throw invalidInput(
    "x-lance-table-location names another place than the one where this server keeps the table: leave it out",
  );
}

function reply(services: Services, record: TableRecord, version: number): Reply {
  const options = publicStorageOptions(storageOptions(services, record));
  return {
    kind: "json",
    value: {
      location: record.location,
      version,
      ...(options && { storage_options: options }),
      properties: record.properties,
    },
    headers: versionHeader(version),
  };
}
