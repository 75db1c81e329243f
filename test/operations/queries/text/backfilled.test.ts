import { expect, it } from "vitest";
import { setupServer } from "../../../harness/setup-server.js";
import { backfillClient } from "../../columns/backfill/backfill-client.js";
import { rows, search, textIndex, words } from "./text-tables.js";

// Without maintenance the written rows stay unindexed.
const joust = setupServer({ args: ["--maintenance", "off"] });
const { compute, fill } = backfillClient(joust);

it("a text search finds backfilled values in rows without index coverage", async () => {
  const { client } = joust;
  const result = async (query: string) => {
    const ids = await search(client, "t", { ...words(query, ["loud"]), k: 100 });
    return ids.sort((a, b) => a - b);
  };
  await client.createTable("t", rows([{ id: 0, title: "old", body: null }]));
  await compute("t", "loud", "concat(title, ' loud')");
  await fill("t", "loud");
  await textIndex(client, "t", { column: "loud" });
  await client.insert("t", rows([1, 2].map((id) => ({ id, title: "new", body: null }))));
  // The new rows have no value yet.
  expect(await result("loud")).toEqual([0]);
  await fill("t", "loud", { where: "id = 1" });
  expect(await result("loud")).toEqual([0, 1]);
  await fill("t", "loud");
  expect(await result("loud")).toEqual([0, 1, 2]);
});
