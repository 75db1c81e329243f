import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { tableForAttempt } from "../../api/idempotency/attempt.js";
import type { Attempt } from "../../api/idempotency/idempotency.js";
import { type Call, operation, type Reply } from "../../api/operation.js";
import { count, stringMap, transactionId } from "../../api/schemas.js";
import type { Services } from "../../api/services.js";
import { parseChoice } from "../../api/validation/choice.js";
import { readStringMap } from "../../api/validation/string-map.js";
import type { TableRecord } from "../../catalog/catalog.js";
import { tableObject } from "../../catalog/grants/grants.js";
import type { ArrowBody } from "../../engine/index.js";
import { ErrorCode, hasCode, invalidInput, JoustError } from "../../foundation/errors.js";
import { hasServerProperties } from "../../maintenance/settings.js";
import { onTable } from "../../tables/open-table.js";
import { changingTable } from "../../tables/table-writes.js";
import { findDeclared, writeFirstVersion } from "./declared-table.js";
import { createdReply, writeReserved } from "./new-table.js";
import { checkStorageOptions } from "./storage-options.js";

interface CreateRequest {
  id: readonly string[];
  creator: string;
  attempt: Attempt | undefined;
  payload: ArrowBody;
  properties: Record<string, string>;
  storageOptions: Record<string, string>;
  /** The location that the client expects; "" for any. */
  location: string;
}

const readMode = (mode = "create") =>
  parseChoice("mode", mode, ["create", "exist_ok", "overwrite"]);

export const createTable = operation({
  id: "CreateTable",
  methods: ["POST"],
  path: "/v1/table/{id}/create",
  summary: "Create a table from an Arrow IPC stream; a stream without rows creates an empty table",
  tag: "Table",
  params: Type.Object({
    mode: Type.Optional(
      Type.String({
        description:
          "effect on an existing table: Create (default) fails, ExistOk leaves it unchanged, Overwrite replaces it",
      }),
    ),
    properties: Type.Optional(
      Type.String({
        description: 'JSON map of strings; also as the header "x-lance-table-properties"',
      }),
    ),
    storage_options: Type.Optional(
      Type.String({ description: "JSON map of strings: storage options for this table's files" }),
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
  access: {
    ...accessTo("new table", "create"),
    sometimes: ["insert", "update", "delete"],
    also: ({ id, params }) =>
      readMode(params.mode) === "overwrite"
        ? [{ object: tableObject(id), privileges: ["insert", "update", "delete"] }]
        : [],
  },
  limited: ["storage"],
  administrative: {
    to: "set properties that start with `joust.`",
    includes: (call) => hasServerProperties(requestedProperties(call)),
  },
  repeatable: true,
  uses: ["catalog", "config", "engine", "jobs", "log", "maintenance"],
  async handle(services, call) {
    const mode = readMode(call.params.mode);
    const request: CreateRequest = {
      id: call.id,
      creator: call.callerId,
      attempt: call.attempt,
      payload: call.payload,
      properties: requestedProperties(call),
      storageOptions: checkStorageOptions(
        services.config.root,
        readStringMap("storage_options", call.params.storage_options),
      ),
      location: call.header("x-lance-table-location"),
    };
    const earlier = await replyOfEarlierAttempt(services, request);
    if (earlier) return earlier;
    const existing = mode === "create" ? undefined : await findTable(services, call.id);
    if (existing === undefined) return createNew(services, request, mode);
    checkLocation(request.location, existing.location);
    if (await findDeclared(services, call.id)) {
      return createDeclared(services, request, existing);
    }
    return mode === "overwrite" ? overwrite(services, request) : replyExisting(services, call.id);
  },
});

/** The properties in the header and in the parameter of a request. */
function requestedProperties(
  call: Pick<Call<{ properties?: string }, unknown>, "params" | "header">,
): Record<string, string> {
  const inHeader = call.header("x-lance-table-properties");
  return {
    ...readStringMap("header x-lance-table-properties", inHeader),
    ...readStringMap("properties", call.params.properties),
  };
}

/** The reply if an earlier attempt of the request created the table. */
async function replyOfEarlierAttempt(
  services: Pick<Services, "catalog" | "config">,
  { attempt }: CreateRequest,
): Promise<Reply | undefined> {
  if (attempt?.since === undefined) return undefined;
  const record = await services.catalog.tableByKey(attempt.id);
  return record && createdReply(services, record, 1);
}

async function findTable(
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

async function createNew(
  services: Pick<Services, "catalog" | "config" | "engine" | "log" | "maintenance">,
  request: CreateRequest,
  mode: "create" | "exist_ok" | "overwrite",
): Promise<Reply> {
  let record: TableRecord;
  try {
    // If the attempt continues an earlier one, that one created no table, and the key is a new one.
    const { id: key, since } = request.attempt ?? {};
    const keyed = key !== undefined && since === undefined ? { ...request, key } : request;
    record = await services.catalog.reserveTable(request.id, keyed);
  } catch (error) {
    if (!hasCode(error, ErrorCode.TableAlreadyExists)) throw error;
    const declared = await findDeclared(services, request.id);
    if (declared) return createDeclared(services, request, declared);
    if (mode === "create" && (await findTable(services, request.id))) throw error;
    // Another request has reserved the name. It may still fail.
    throw new JoustError(
      ErrorCode.ConcurrentModification,
      "another request is creating a table of that name: try again",
    );
  }
  return writeReserved(services, record, async (table) => {
    checkLocation(request.location, record.location);
    return (await table.create(request.payload, false)).version;
  });
}

/** Writes the first version of a declared table. Its declared properties remain. */
async function createDeclared(
  services: Pick<Services, "catalog" | "config" | "engine" | "maintenance">,
  request: CreateRequest,
  declared: TableRecord,
): Promise<Reply> {
  checkLocation(request.location, declared.location);
  const { version } = await writeFirstVersion(services, request, (table) =>
    table.create(request.payload, false),
  );
  const properties =
    Object.keys(request.properties).length === 0
      ? declared.properties
      : await services.catalog.mergeTableProperties(declared.key, request.properties);
  return createdReply(services, { ...declared, properties }, version);
}

/** Replaces rows and schema in one commit, and cancels the jobs of the table: their input no longer exists. */
function overwrite(
  services: Pick<Services, "catalog" | "config" | "engine" | "jobs" | "maintenance">,
  request: CreateRequest,
): Promise<Reply> {
  const { id, properties, payload } = request;
  return changingTable(services, id, payload, async ({ record, table }) => {
    const { version } = await tableForAttempt(table, request).create(payload, true);
    // A cancelled job that still runs cannot commit on the main branch: the version that it read is overwritten.
    await services.jobs.cancelTable(record.key);
    await services.catalog.setTableProperties(record.key, properties);
    return createdReply(services, { ...record, properties }, version);
  });
}

function replyExisting(
  services: Pick<Services, "catalog" | "config" | "engine">,
  id: readonly string[],
): Promise<Reply> {
  return onTable(services, id, async ({ record, table }) => {
    const { version } = await table.describe();
    return createdReply(services, record, version);
  });
}

/** The server chooses locations. @throws code 13 if the client expects another one */
function checkLocation(expected: string, actual: string): void {
  const normalize = (location: string) => location.replace(/^file:\/\//, "").replace(/\/+$/, "");
  if (expected === "" || normalize(expected) === normalize(actual)) return;
  throw invalidInput(
    "x-lance-table-location differs from the location that this server chose for the table: leave it out",
  );
}
