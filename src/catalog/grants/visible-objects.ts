/** The objects of which a caller sees something, in a form that listings can query. */
export interface VisibleObjects {
  /** Encoded paths: everything in these namespaces. */
  readonly namespaces: readonly string[];
  /** Encoded paths: namespaces that contain something visible. */
  readonly parents: readonly string[];
  /** Keys of tables. */
  readonly tables: readonly string[];
}
