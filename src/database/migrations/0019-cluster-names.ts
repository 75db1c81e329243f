import type { Kysely, Migration } from "kysely";

/**
 * Names the tables of the cluster as the documents do. A server of an earlier version that still runs finds neither: it
 * drops tables, and leaves their files to the servers of this version.
 */
export const clusterNames: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable("departures").renameTo("removal_acknowledgements").execute();
    await db.schema.alterTable("duties").renameTo("leases").execute();
  },
};
