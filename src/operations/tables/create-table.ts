import { Type } from "@sinclair/typebox";
import { tableForAttempt } from "../../api/idempotency/attempt.js";
import type { Attempt } from "../../api/idempotency/idempotency.js";
import { type Call, operation, type Reply } from "../../api/operation.js";
import { count, stringMap, transactionId } from "../../api/schemas.js";
import type { Services } from "../../api/services.js";
import { parseChoice } from "../../api/validation/choice.js";
import { readStringMap } from "../../api/validation/string-map.js";
import type { TableRecord } from "../../catalog/catalog.js";
import type { ArrowBody } from "../../engine/index.js";
import { ErrorCode, hasCode, invalidInput, JoustError } from "../../foundation/errors.js";
import { steersServer } from "../../maintenance/settings.js";
import { onTable } from "../../tables/open-table.js";
import { changingTable } from "../../tables/table-writes.js";
import { findDeclared, writeFirstVersion } from "./declared-table.js";
import { createdReply, writeReserved } from "./new-table.js";
import { checkStorageOptions } from "./storage-options.js";

interface Wanted {
  id: readonly string[];
  attempt: Attempt | undefined;
  payload: ArrowBody;
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
  administrative: {
    to: "set properties that begin with `joust.`",
    includes: (call) => steersServer(givenProperties(call)),
  },
  repeatable: true,
  uses: ["catalog", "config", "engine", "jobs", "log", "maintenance"],
  async handle(services, call) {
    const mode = parseChoice("mode", call.params.mode ?? "create", [
      "create",
      "exist_ok",
      "overwrite",
    ]);
    const wanted: Wanted = {
      id: call.id,
      attempt: call.attempt,
      payload: call.payload,
      properties: givenProperties(call),
      storageOptions: checkStorageOptions(
        services.config.root,
        readStringMap("storage_options", call.params.storage_options),
      ),
      location: call.header("x-lance-table-location"),
    };
    const made = await madeBefore(services, wanted);
    if (made) return made;
    const existing = mode === "create" ? undefined : await find(services, call.id);
    if (existing === undefined) return create(services, wanted, mode);
    checkLocation(wanted.location, existing.location);
    if (await findDeclared(services, call.id)) {
      return fill(services, wanted, existing);
    }
    return mode === "overwrite" ? overwrite(services, wanted) : keep(services, call.id);
  },
});

/** The properties that a request sets, by header and by parameter. */
function givenProperties(
  call: Pick<Call<{ properties?: string }, unknown>, "params" | "header">,
): Record<string, string> {
  const inHeader = call.header("x-lance-table-properties");
  return {
    ...readStringMap("header x-lance-table-properties", inHeader),
    ...readStringMap("properties", call.params.properties),
  };
}

/** The answer to a request whose earlier attempt has made the table. */
async function madeBefore(
  services: Pick<Services, "catalog" | "config">,
  { attempt }: Wanted,
): Promise<Reply | undefined> {
  if (attempt?.since === undefined) return undefined;
  const record = await services.catalog.tableByKey(attempt.id);
  return record && createdReply(services, record, 1);
}

async function find(
  services: Pick<Services, "catalog">,
  id: readonly string[],
): Promise<TableRecord | undefined> {
  try {
    return await services.catalog.table(id);
  } catch (error) {
    if (hasCode(error, ErrorCode.TableNotFound)) return undefined;
    throw error;
  }
}

async function create(
  services: Pick<Services, "catalog" | "config" | "engine" | "log" | "maintenance">,
  wanted: Wanted,
  mode: "create" | "exist_ok" | "overwrite",
): Promise<Reply> {
  let record: TableRecord;
  try {
    // An attempt that goes on with an earlier one has found that it made no table.
    const { id: key, since } = wanted.attempt ?? {};
    const named = key !== undefined && since === undefined ? { ...wanted, key } : wanted;
    record = await services.catalog.reserveTable(wanted.id, named);
  } catch (error) {
    if (!hasCode(error, ErrorCode.TableAlreadyExists)) throw error;
    const declared = await findDeclared(services, wanted.id);
    if (declared) return fill(services, wanted, declared);
    if (mode === "create" && (await find(services, wanted.id))) throw error;
    // It was not there a moment ago, or is not there yet: what makes it may fail.
    throw new JoustError(
      ErrorCode.ConcurrentModification,
      "another request creates a table of that name right now: try again",
    );
  }
  return writeReserved(services, record, async (table) => {
    checkLocation(wanted.location, record.location);
    return (await table.create(wanted.payload, false)).version;
  });
}

/** A declared table keeps what it was declared with. */
async function fill(
  services: Pick<Services, "catalog" | "config" | "engine" | "maintenance">,
  wanted: Wanted,
  declared: TableRecord,
): Promise<Reply> {
  checkLocation(wanted.location, declared.location);
  const { version } = await writeFirstVersion(services, wanted, (table) =>
    table.create(wanted.payload, false),
  );
  const properties =
    Object.keys(wanted.properties).length === 0
      ? declared.properties
      : await services.catalog.mergeTableProperties(declared.key, wanted.properties);
  return createdReply(services, { ...declared, properties }, version);
}

/** Content and schema are replaced in one commit; builds on what was there are of no more use. */
function overwrite(
  services: Pick<Services, "catalog" | "config" | "engine" | "jobs" | "maintenance">,
  wanted: Wanted,
): Promise<Reply> {
  const { id, properties, payload } = wanted;
  return changingTable(services, id, payload, async ({ record, table }) => {
    const { version } = await tableForAttempt(table, wanted).create(payload, true);
    await services.jobs.cancelTable(record.key);
    await services.catalog.setTableProperties(record.key, properties);
    return createdReply(services, { ...record, properties }, version);
  });
}

function keep(
  services: Pick<Services, "catalog" | "config" | "engine">,
  id: readonly string[],
): Promise<Reply> {
  return onTable(services, id, async ({ record, table }) => {
    const { version } = await table.describe();
    return createdReply(services, record, version);
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
