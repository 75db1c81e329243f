/** Whether a root or a location is the URI of an object store, not a path. */
export const isRemote = (location: string): boolean => /^[a-z][a-z0-9+.-]+:\/\//i.test(location);

/** Whether `--catalog` is the URL of a Postgres database, not a SQLite file. */
export const isPostgres = (catalog: string): boolean => /^postgres(ql)?:\/\//.test(catalog);
