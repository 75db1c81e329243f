import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { stringMap, transactionId } from "../../api/schemas.js";
import { clientLocation } from "../../catalog/tables/client-location.js";
import { invalidInput } from "../../foundation/errors.js";
import { tableHandle } from "../../tables/open-table.js";
import { checkVersion } from "../../tables/target.js";
import { createAt } from "./new-table.js";

const optional = Type.Optional;

/**
 * Copies a table that lies in the root.
 *
 * A shallow clone, one that refers to the files of its source, is asked for and not made: it would be
 * broken as soon as the source is dropped, overwritten and cleaned up, or compacted, which its owner may
 * do at any time without knowing of it. Every clone is a copy of its own.
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
      source_location: Type.String({ minLength: 1, description: "as describe shows it" }),
      source_version: optional(Type.Integer({ minimum: 0, description: "default: the newest" })),
      source_tag: optional(Type.String({ description: "name of the version to copy" })),
      is_shallow: optional(
        Type.Boolean({ description: "taken and ignored: a clone shares no files with its source" }),
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
  permission: "write",
  administrative: {
    to: "copy files that no table of the catalog has",
    includes: async ({ payload }, { catalog, config }) => {
      const location = clientLocation(config.root, payload.source_location);
      return (await catalog.tableAt(location)) === undefined;
    },
  },
  uses: ["catalog", "config", "engine", "log"],
  async handle(services, { id, payload }) {
    const { source_location, source_version: version, source_tag: tag } = payload;
    if (version !== undefined && tag !== undefined) {
      throw invalidInput("source_version and source_tag are both given: a tag names a version");
    }
    const { config, engine } = services;
    const location = clientLocation(config.root, source_location);
    const record = await services.catalog.tableAt(location);
    const source = record
      ? tableHandle(services, record)
      : engine.table(location, config.storageOptions);
    // Before a name is taken: a source that is not there is the most likely mistake.
    await source.describe();
    const state = {
      ...(version !== undefined && { version: checkVersion(version) }),
      ...(tag !== undefined && { tag }),
    };
    const wanted = { id, properties: {}, storageOptions: {} };
    return createAt(services, wanted, (table) => table.cloneFrom(source, state));
  },
});
