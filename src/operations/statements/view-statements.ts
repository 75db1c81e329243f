/** The statements of materialized views. */
import { randomUUID } from "node:crypto";
import { tablesPageToken } from "../../catalog/page-token.js";
import { encodePath } from "../../catalog/path.js";
import { ErrorCode, hasCode, invalidInput } from "../../foundation/errors.js";
import { identifier, ROOT_SCHEMA } from "../../tables/named-table.js";
import { onTable } from "../../tables/open-table.js";
import { removeDroppedTables, removeTable } from "../../tables/table-removal.js";
import { renameTable } from "../tables/rename-table.js";
import { createMaterializedView } from "../views/create-materialized-view.js";
import { describeMaterializedView } from "../views/describe-materialized-view.js";
import { dropMaterializedView } from "../views/drop-materialized-view.js";
import { listMaterializedViews } from "../views/list-materialized-views.js";
import { refreshMaterializedView } from "../views/refresh-materialized-view.js";
import type { ChangeOf, Options } from "./change.js";
import { missing, unless } from "./change-tables.js";
import {
  afterJob,
  done,
  listed,
  type StatementResult,
  VIEW_NAME,
  VIEW_QUERY,
} from "./statement-result.js";
import { type StatementRun, statementOperation } from "./statement-run.js";

const creating = statementOperation(createMaterializedView);
const describing = statementOperation(describeMaterializedView);
const dropping = statementOperation(dropMaterializedView);
const listing = statementOperation(listMaterializedViews);
const refreshing = statementOperation(refreshMaterializedView);
const renaming = statementOperation(renameTable);

export async function createView(
  run: StatementRun,
  change: ChangeOf<"create_view">,
): Promise<StatementResult> {
  const id = await run.id(change.view);
  const payload = {
    query: change.query,
    with_no_data: false,
    ...autoRefresh(change.options),
  };
  if (change.replace) return replaceView(run, id, payload);
  return unless(change.ifNotExists ? [ErrorCode.TableAlreadyExists] : [], () =>
    createFilled(run, id, payload),
  );
}

/** How the view refreshes itself. @throws code 13 for an option that has another type */
function autoRefresh({
  auto_refresh_enabled: enabled,
  auto_refresh_interval_seconds: interval,
}: Options): { auto_refresh?: true; auto_refresh_interval_seconds?: number } {
  if (enabled !== undefined && typeof enabled !== "boolean") {
    throw invalidInput("auto_refresh_enabled must be true or false");
  }
  if (interval !== undefined && !(typeof interval === "number" && interval > 0)) {
    throw invalidInput("auto_refresh_interval_seconds must be a number above 0");
  }
  // An interval alone asks for a view that refreshes itself.
  if (!(enabled ?? interval !== undefined)) return {};
  return {
    auto_refresh: true,
    ...(interval !== undefined && { auto_refresh_interval_seconds: interval }),
  };
}

/** Creates a view and fills it. If it cannot be filled, there is no view. */
async function createFilled(
  run: StatementRun,
  id: readonly string[],
  payload: Record<string, unknown>,
): Promise<StatementResult> {
  const reply = await run.run(creating, { id, payload });
  const { key } = await reply.services.catalog.table(id);
  try {
    return await afterJob(run, reply, reply.value.job_id as string);
  } catch (error) {
    await removeFilled(run, id, key);
    throw error;
  }
}

/** Removes a view that a statement created and did not complete. */
const removeFilled = (run: StatementRun, id: readonly string[], key?: string) =>
  unless(missing, async () => {
    await removeTable(run.services, id, key);
    return done();
  });

/** A view that the caller may drop. @throws code 19 for a table that is no view */
async function viewToDrop(run: StatementRun, id: readonly string[]) {
  const services = await run.servicesFor(dropping, { id });
  return onTable(services, id, async ({ record, table }) => ({
    key: record.key,
    sources: (await table.view()).tables.map((source) => source.table),
  }));
}

/** The view that a statement replaces; undefined: there is none. */
const viewToReplace = (run: StatementRun, id: readonly string[]) =>
  viewToDrop(run, id).catch((error) => {
    if (missing.some((code) => hasCode(error, code))) return undefined;
    throw error;
  });

/** Replaces a view by a new one. Until the new one is filled, the name stands for the old one. */
async function replaceView(
  run: StatementRun,
  id: readonly string[],
  payload: Record<string, unknown>,
): Promise<StatementResult> {
  if (run.call.respondAsync) {
    throw invalidInput("OR REPLACE waits until the new view is filled: leave out Prefer");
  }
  // A table of that name is an error before the work starts.
  await viewToReplace(run, id);
  const name = id.at(-1) ?? "";
  const filling = [...id.slice(0, -1), `${name}__${randomUUID().slice(0, 8)}`];
  const result = await createFilled(run, filling, payload);
  const rename = {
    id: filling,
    payload: { new_table_name: name, new_namespace_id: id.slice(0, -1) },
  };
  try {
    const { sources } = await viewToDrop(run, filling);
    if (sources.some((source) => encodePath(source) === encodePath(id))) {
      throw invalidInput("the new view reads the view that it replaces: give it another name");
    }
    const old = await viewToReplace(run, id);
    if (old) {
      await run.check(renaming, rename);
      const replaced = await run.services.catalog.replaceTable(filling, id, old.key);
      await removeDroppedTables(run.services, replaced ? [replaced] : []);
    } else {
      await run.run(renaming, rename);
    }
  } catch (error) {
    await removeFilled(run, filling);
    throw error;
  }
  return result;
}

export async function refreshView(
  run: StatementRun,
  { view, options }: ChangeOf<"refresh_view">,
): Promise<StatementResult> {
  const id = await run.id(view);
  const reply = await run.run(refreshing, { id, payload: { ...options } });
  return afterJob(run, reply, reply.value.job_id as string);
}

export async function dropView(
  run: StatementRun,
  { view, ifExists }: ChangeOf<"drop_view">,
): Promise<StatementResult> {
  const id = await run.id(view);
  return unless(ifExists ? missing : [], async () => done(await run.run(dropping, { id })));
}

export async function describeView(
  run: StatementRun,
  { view }: ChangeOf<"describe_view">,
): Promise<StatementResult> {
  const { value } = await run.run(describing, { id: await run.id(view) });
  return listed(VIEW_QUERY, [value.query as string]);
}

/** The names of the views in a namespace, in byte order. */
export async function showViews(
  run: StatementRun,
  { schema, after, limit = Number.POSITIVE_INFINITY }: ChangeOf<"show_views">,
): Promise<StatementResult> {
  const id = await schemaId(run, schema);
  const names: string[] = [];
  let page_token = after === undefined ? undefined : tablesPageToken(id, after);
  let aborted = false;
  run.call.onAbort(() => {
    aborted = true;
  });
  while (names.length < limit && !aborted) {
    const params = page_token === undefined ? {} : { page_token };
    const { value } = await run.run(listing, { id, params });
    names.push(...(value.views as string[]));
    page_token = value.page_token as string | undefined;
    if (page_token === undefined) break;
  }
  return listed(VIEW_NAME, names.slice(0, limit));
}

/** The namespace of a listing; `public` is the root, unless a namespace has that name. */
async function schemaId(
  run: StatementRun,
  schema: readonly string[] | undefined,
): Promise<readonly string[]> {
  if (schema === undefined) return run.call.namespace;
  const { database } = run.call;
  const id = identifier(schema, { database, namespace: database });
  if (id.length !== database.length + 1 || id.at(-1) !== ROOT_SCHEMA) return id;
  return (await run.id([ROOT_SCHEMA, "any"])).slice(0, -1);
}
