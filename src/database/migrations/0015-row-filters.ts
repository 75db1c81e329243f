import type { Migration } from "kysely";

/**
 * Grants may have a row filter from here on. 0013 has made the column. The migration makes older versions refuse the
 * catalog: they would ignore the filter, and show all rows.
 */
export const rowFilters: Migration = { async up() {} };
