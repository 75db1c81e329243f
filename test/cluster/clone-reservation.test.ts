import { join } from "node:path";
import Database from "libsql";
import { expect, it } from "vitest";
import { openCatalog } from "../../src/server/open-catalog.js";
import { quiet } from "../catalog/catalog-databases.js";
import { items } from "../harness/arrow.js";
import { expectFailure } from "../harness/expect-failure.js";
import { setupServer } from "../harness/setup-server.js";
import { waitFor } from "../harness/wait-for.js";

const joust = setupServer();

// A server that hangs for longer than its lease finds this state when it resumes.
it("a clone whose reservation another server has removed fails and leaves no tag", async () => {
  const { client, root } = joust;
  await client.createTable("base", items(5));
  const { location } = await client.ok("/v1/table/base/describe");
  const url = join(root, ".joust", "catalog.db");
  const { catalog, close } = await openCatalog({ root, url, log: quiet, role: "server" });
  try {
    const source = await catalog.tableAt(location);
    if (!source) throw new Error("the other server has no such table");
    await catalog.lockReferences(source.key);
    const cloning = client.post("/v1/table/late/clone", { source_location: location });
    await waitFor("the clone is reserved", () => catalog.hasClones(location));
    const database = new Database(url);
    database.exec("delete from tables where name = 'late'");
    database.exec("delete from clones");
    database.close();
    catalog.unlockReferences(source.key);

    const reply = await cloning;
    expectFailure(reply, 503, 17);
    expect(reply.text).toContain('the clone \\"late\\" was not made');
  } finally {
    await close();
  }
  const { tags } = await client.ok("/v1/table/base/tags/list");
  expect(tags).toEqual({});
  expectFailure(await client.post("/v1/table/late/describe"), 404, 4);
  await client.ok("/v1/table/late/clone", { source_location: location });
  expect(await client.count("late")).toBe(5);
});
