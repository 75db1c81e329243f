import type { Reply } from "../../../api/operation.js";
import type { TableRecord } from "../../../catalog/catalog.js";
import type { Table } from "../../../engine/index.js";

interface CachedReplies {
  record: TableRecord;
  stamp: number;
  /** Index: the number of the form. */
  replies: Reply[];
}

const cache = new WeakMap<Table, CachedReplies>();

/**
 * The cached description of a table's latest version. It is valid while neither the table (its stamp) nor its record in
 * the catalog changes. `form`: the number of the reply's form.
 */
export function readCache(
  table: Table,
  record: TableRecord,
  stamp: number,
  form: number,
): Reply | undefined {
  const cached = cache.get(table);
  return cached?.stamp === stamp && cached.record === record ? cached.replies[form] : undefined;
}

export function writeCache(
  table: Table,
  record: TableRecord,
  stamp: number,
  form: number,
  reply: Reply,
): void {
  let cached = cache.get(table);
  if (cached === undefined || cached.stamp !== stamp || cached.record !== record) {
    cached = { record, stamp, replies: [] };
    cache.set(table, cached);
  }
  cached.replies[form] = reply;
}
