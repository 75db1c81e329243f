import type { Reply } from "../../../api/operation.js";
import type { TableRecord } from "../../../catalog/catalog.js";
import type { Table } from "../../../engine/index.js";

interface Described {
  record: TableRecord;
  stamp: number;
  /** By form. */
  replies: Reply[];
}

const described = new WeakMap<Table, Described>();

/**
 * The last description of a table's latest version, if it is still true: neither the table (its
 * stamp) nor the catalog's row of it has changed. `form` tells replies of different shape apart.
 */
export function recall(
  table: Table,
  record: TableRecord,
  stamp: number,
  form: number,
): Reply | undefined {
  const known = described.get(table);
  return known?.stamp === stamp && known.record === record ? known.replies[form] : undefined;
}

export function remember(
  table: Table,
  record: TableRecord,
  stamp: number,
  form: number,
  reply: Reply,
): void {
  let known = described.get(table);
  if (known === undefined || known.stamp !== stamp || known.record !== record) {
    known = { record, stamp, replies: [] };
    described.set(table, known);
  }
  known.replies[form] = reply;
}
