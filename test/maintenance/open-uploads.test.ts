import { expect, test } from "vitest";
import { items } from "../harness/arrow.js";
import { setupServer } from "../harness/setup-server.js";
import { waitFor } from "../harness/wait-for.js";

const joust = setupServer({ args: ["--keep-versions", "1s"] });

const versionsOf = async (table: string): Promise<number[]> => {
  const { versions } = await joust.client.ok(`/v1/table/${table}/version/list`, {});
  return versions
    .map(({ version }: { version: number }) => version)
    .sort((a: number, b: number) => a - b);
};

test("version clean-up keeps the base version of a multipart write in progress", {
  timeout: 90_000,
}, async () => {
  const { client } = joust;
  const path = "/v1/table/slow";
  await client.createTable("slow", items(10));
  for (let n = 0; n < 3; n++) await client.insert("slow", items(1, { from: 100 + n }));
  const { upload_id } = await client.ok(`${path}/multipart_write/create`, {});
  await client.insert("slow", items(5, { from: 200 }), { upload_id });
  for (let n = 0; n < 3; n++) await client.insert("slow", items(1, { from: 300 + n }));
  // Versions before the base version are removed and all later ones stay.
  await waitFor(
    "old versions are removed",
    async () => (await versionsOf("slow")).join() === "4,5,6,7",
    {
      timeoutMs: 30_000,
    },
  );
  await client.insert("slow", items(5, { from: 210 }), { upload_id });
  await client.ok(`${path}/multipart_write/complete`, {}, { upload_id });
  expect(await client.count("slow")).toBe(10 + 3 + 3 + 10);
});
