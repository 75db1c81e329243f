import type { Services } from "../../../api/services.js";
import { locationTaken } from "../../../catalog/failures.js";
import { clientLocation, parentLocations } from "../../../catalog/tables/client-location.js";
import { invalidInput } from "../../../foundation/errors.js";
import { AUDIT_FOLDER } from "../../../telemetry/audit/audit-location.js";

/**
 * Checks that a location that a client chose for a new table is empty: existing files would become part of the table.
 *
 * @throws code 5 if a table is at or around the location, 13 if other files are
 */
export async function checkEmptyLocation(
  services: Pick<Services, "config" | "engine">,
  requested: string | undefined,
): Promise<string | undefined> {
  if (requested === undefined) return undefined;
  const { config, engine } = services;
  const location = clientLocation(config.root, requested);
  if (parentLocations(config.root, `${location}/-`)[0]?.endsWith(`/${AUDIT_FOLDER}`)) {
    throw invalidInput("location is reserved for the audit table: choose another");
  }
  await checkNotInTable(services, location);
  const contents = await engine.contents(location, config.storageOptions);
  if (contents === "table") throw locationTaken();
  if (contents === "behindLink") {
    throw invalidInput("location is behind a symbolic link: choose one in the root itself");
  }
  if (contents === "unreadable") {
    throw invalidInput("the server cannot read that location: choose another");
  }
  if (contents !== "nothing") {
    throw invalidInput("location contains files: choose an empty one, or one that does not exist");
  }
  return location;
}

/** Reads the storage, because the catalog does not know every table. @throws code 5 for a location inside a table */
export async function checkNotInTable(
  { config, engine }: Pick<Services, "config" | "engine">,
  location: string,
): Promise<void> {
  for (const place of parentLocations(config.root, location)) {
    if ((await engine.contents(place, config.storageOptions)) === "table") throw locationTaken();
  }
}
