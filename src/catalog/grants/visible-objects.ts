/** The objects of which a caller sees something, in a form that listings can query. */
export interface VisibleObjects {
  /** Encoded paths: everything in these namespaces. */
  readonly namespaces: readonly string[];
  /** Encoded paths: namespaces that contain something visible. */
  readonly parents: readonly string[];
  /** Keys of tables. */
  readonly tables: readonly string[];
}

/** The tables of which a caller may see what counts rows: those without a row filter on what it reads. */
export interface FullyVisible {
  /** Visible, whatever filters apply: the caller may read all rows. */
  readonly allRows: VisibleObjects;
  /** Visible unless a filter applies. Undefined: everything. */
  readonly any: VisibleObjects | undefined;
  /** The objects with a filter. Undefined: everything. */
  readonly filtered: VisibleObjects | undefined;
}
