import type { Services } from "../../../api/services.js";
import { locationTaken } from "../../../catalog/failures.js";
import { clientLocation, placesAbove } from "../../../catalog/tables/client-location.js";
import { invalidInput } from "../../../foundation/errors.js";

/**
 * A location that a client chose for a new table: what is there would be the table's from then on.
 *
 * @throws code 5 where a table is there or around it, 13 where anything else is
 */
export async function emptyLocation(
  services: Pick<Services, "config" | "engine">,
  given: string | undefined,
): Promise<string | undefined> {
  if (given === undefined) return undefined;
  const { config, engine } = services;
  const location = clientLocation(config.root, given);
  await checkNotInTable(services, location);
  const contents = await engine.contents(location, config.storageOptions);
  if (contents === "table") throw locationTaken();
  if (contents === "behindLink") {
    throw invalidInput("location lies behind a symbolic link: choose one in the root itself");
  }
  if (contents === "unreadable") {
    throw invalidInput("the server cannot read what is at that location: choose another");
  }
  if (contents !== "nothing") {
    throw invalidInput(
      "location holds files already: choose one that is empty, or where nothing is",
    );
  }
  return location;
}

/** The catalog knows of its own tables only. @throws code 5 for a location inside a table */
export async function checkNotInTable(
  { config, engine }: Pick<Services, "config" | "engine">,
  location: string,
): Promise<void> {
  for (const place of placesAbove(config.root, location)) {
    if ((await engine.contents(place, config.storageOptions)) === "table") throw locationTaken();
  }
}
