import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { stringMap, transactionId } from "../../api/schemas.js";
import type { TableRecord } from "../../catalog/catalog.js";
import { tableNotFound } from "../../catalog/failures.js";
import { clientLocation } from "../../catalog/tables/client-location.js";
import { cloneTag } from "../../catalog/tables/clones.js";
import { ErrorCode, hasCode, invalidInput, JoustError } from "../../foundation/errors.js";
import { tableHandle } from "../../tables/open-table.js";
import { changingReferences } from "../../tables/table-writes.js";
import { checkVersion } from "../../tables/target.js";
import { reserveAndWrite } from "./new-table.js";

const optional = Type.Optional;

/**
 * Clones a table in the root.
 *
 * A shallow clone reads the files of its source, which a tag of the source protects. Nothing protects the files of a source
 * that is no table of the catalog; those of a table with storage options of its own need options that the clone does not
 * have. Both are copied.
 */
export const cloneTable = operation({
  id: "CloneTable",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/v1/table/{id}/clone",
  summary: "Create a table from a version of another one",
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
      source_tag: optional(Type.String({ description: "tag of the version to clone" })),
      is_shallow: optional(
        Type.Boolean({
          description:
            "true (default): the clone reads the files of its source, which stay as long as it exists; false: it gets copies",
        }),
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
  uses: ["catalog", "config", "engine", "log", "maintenance"],
  async handle(services, { id, payload, callerId }) {
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
    const clone = { id, properties: {}, storageOptions: {}, creator: callerId };
    if (payload.is_shallow === false || !record || !isShareable(record)) {
      return reserveAndWrite(services, clone, (table) => table.cloneFrom(source, state));
    }
    const sharing = { ...clone, source: record };
    return reserveAndWrite(services, sharing, async (table, { key }) => {
      const tag = cloneTag(key);
      await changingReferences(services, record.id, async (current) => {
        // A rename may have given the name to another table.
        if (current.record.key !== record.key) throw tableNotFound(record.id);
        await current.table.tagForClone(state, tag);
        // If this server hung for longer than its lease, another one has removed the reservation, and found no tag.
        if (await services.catalog.hasClones(record.location, tag)) return;
        await current.table.deleteTag(tag);
        throw reservationLost(id);
      });
      return table.cloneShallow(source, tag);
    });
  },
});

const reservationLost = (id: readonly string[]): JoustError =>
  new JoustError(
    ErrorCode.ServiceUnavailable,
    `the clone ${JSON.stringify(id.join("$"))} was not made, because this server did not respond for too long and another one removed its reservation: try again`,
  );

/** Whether the storage options with which joust opens a new table also read the files of this one. */
const isShareable = ({ storageOptions }: TableRecord): boolean =>
  Object.keys(storageOptions).length === 0;
