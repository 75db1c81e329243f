import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { stringMap, transactionId } from "../../api/schemas.js";
import { clientLocation } from "../../catalog/tables/client-location.js";
import { ErrorCode, hasCode, invalidInput } from "../../foundation/errors.js";
import { tableHandle } from "../../tables/open-table.js";
import { checkVersion } from "../../tables/target.js";
import { reserveAndWrite } from "./new-table.js";

const optional = Type.Optional;

/**
 * Copies a table in the root.
 *
 * Clients may request a shallow clone, which refers to the files of its source. The server always copies the files: a
 * shallow clone would break when the source is dropped, compacted, or overwritten and cleaned up, and the owner of the
 * source does not know of its clones.
 */
export const cloneTable = operation({
  id: "CloneTable",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/v1/table/{id}/clone",
  summary: "Create a table as a copy of a version of another one",
  tag: "Table",
  params: Type.Object({}),
  body: {
    kind: "json",
    schema: Type.Object({
      source_location: Type.String({
        minLength: 1,
        description: "location that DescribeTable reports",
      }),
      source_version: optional(Type.Integer({ minimum: 0, description: "default: the latest" })),
      source_tag: optional(Type.String({ description: "tag of the version to copy" })),
      is_shallow: optional(
        Type.Boolean({ description: "ignored: a clone shares no files with its source" }),
      ),
    }),
  },
  reply: Type.Object({
    transaction_id: transactionId,
    location: Type.String(),
    version: Type.Integer({ minimum: 0 }),
    storage_options: optional(stringMap),
    properties: stringMap,
  }),
  access: accessTo("new table", "create"),
  limited: ["storage"],
  administrative: {
    to: "copy files that belong to no table of the catalog",
    on: () => "server",
    includes: async ({ payload }, { catalog, config }) => {
      const location = clientLocation(config.root, payload.source_location);
      try {
        return (await catalog.tableAt(location)) === undefined;
      } catch (error) {
        // In another database. A caller that may not clone files must not learn that there is a table.
        if (hasCode(error, ErrorCode.TableNotFound)) return true;
        throw error;
      }
    },
  },
  uses: ["catalog", "config", "engine", "log"],
  async handle(services, { id, payload }) {
    const { source_location, source_version: version, source_tag: tag } = payload;
    if (version !== undefined && tag !== undefined) {
      throw invalidInput("source_version and source_tag cannot both be set: a tag names a version");
    }
    const { config, engine } = services;
    const location = clientLocation(config.root, source_location);
    const record = await services.catalog.tableAt(location);
    const source = record
      ? tableHandle(services, record)
      : engine.table(location, config.storageOptions);
    // Before the name is reserved: a missing source is the most likely mistake.
    await source.describe();
    const state = {
      ...(version !== undefined && { version: checkVersion(version) }),
      ...(tag !== undefined && { tag }),
    };
    const clone = { id, properties: {}, storageOptions: {} };
    return reserveAndWrite(services, clone, (table) => table.cloneFrom(source, state));
  },
});
