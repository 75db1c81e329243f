import { expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";
import { waitFor } from "../../harness/wait-for.js";

const joust = setupServer();

/** The samples of a scrape, by name and labels. */
async function scrape(): Promise<Map<string, number>> {
  const answer = await joust.client.get("/metrics");
  expect(answer.status, answer.text).toBe(200);
  expect(answer.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  const samples = answer.text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    samples.map((line) => {
      const end = line.lastIndexOf(" ");
      return [line.slice(0, end), Number(line.slice(end + 1))];
    }),
  );
}

it("the metrics include jobs and maintenance", async () => {
  const { client } = joust;
  const before = await scrape();
  expect(before.get("joust_maintenance_on")).toBe(1);
  expect(before.get("joust_maintenance_tables_to_look_at")).toBe(0);
  const done = 'joust_jobs{kind="maintenance",state="DONE"}';
  expect(before.get(done)).toBeUndefined();

  await client.createTable("t", items(10));
  for (let n = 0; n < 20; n++) await client.insert("t", items(1, { from: 100 + n }));
  expect((await scrape()).get("joust_maintenance_tables_to_look_at")).toBe(1);
  const after = await waitFor("the table was maintained", async () => {
    const now = await scrape();
    return (now.get(done) ?? 0) > 0 && now;
  });
  expect(after.get("joust_maintenance_tables_to_look_at")).toBe(0);
  expect(after.get("joust_maintenance_last_round_timestamp_seconds")).toBeGreaterThan(0);
});

it("the metrics require a key with read permission", async () => {
  expectFailure(await joust.client.withKey("").get("/metrics"), 401, 16);
});
