/** The folder of the audit table in the root. No client may choose a location in it for a new table. */
export const AUDIT_FOLDER = "_audit";

/** The table of `--audit-log-table`, below the root. No catalog names it until an administrator registers it. */
export const AUDIT_TABLE = `${AUDIT_FOLDER}/log.lance`;
