import type { Place } from "./places.js";

/** The namespace of all objects that the requests may change. */
export const SPACE = "h";

/** Names that a server gave to the objects of the fixture. */
export interface Known {
  job: string;
  transaction: string;
  /** The location of the table `h$items`. */
  location: string;
  /** A manifest of the table `h$CreateTableVersion`. */
  manifest: string;
  /** The open upload of each operation that needs one. */
  uploads: Record<string, string>;
}

/** Operations that change no object of their path, by their id. The other ones have an object of their own. */
export const isRead = ({ operation }: Place): boolean => operation.permission === "read";

const kindOf = ({ path }: Place): string | undefined => path.split("/")[2];

const namespaces: Readonly<Record<string, string>> = {
  CreateNamespace: `${SPACE}$made`,
  DropNamespace: `${SPACE}$dropped`,
};

const tables: Readonly<Record<string, string>> = {
  BatchCreateTableVersions: `${SPACE}$CreateTableVersion`,
  RefreshTable: `${SPACE}$view`,
  GetTableBlobBytes: `${SPACE}$blobs`,
  FetchTableBlobs: `${SPACE}$blobs`,
  CreateMaterializedView: `${SPACE}$new_view`,
  DropMaterializedView: `${SPACE}$dropped_view`,
  RefreshMaterializedView: `${SPACE}$view`,
  DescribeMaterializedView: `${SPACE}$view`,
  ListRowErrors: `${SPACE}$AlterTableBackfillColumns`,
};

/** The object of a valid request. */
export function objectOf(place: Place, known: Known): string {
  const { id } = place.operation;
  if (kindOf(place) === "namespace") return namespaces[id] ?? SPACE;
  if (kindOf(place) === "transaction") return known.transaction;
  return tables[id] ?? (isRead(place) ? `${SPACE}$items` : `${SPACE}$${id}`);
}
