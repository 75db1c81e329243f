import { readdirSync } from "node:fs";
import { join } from "node:path";
import Database from "libsql";
import { afterAll, describe, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import { expectFailure } from "../harness/expect-failure.js";
import { type Server, startServer } from "../harness/server.js";
import { removeDir, tempDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";

const root = tempDir("uploads");
afterAll(() => removeDir(root));

const upload = "/v1/table/t/multipart_write";
const files = () => readdirSync(join(root, "t.lance", "data")).length;

/** Changes the catalog of a stopped server. */
function edit(sql: string): void {
  const database = new Database(join(root, ".joust", "catalog.db"));
  database.exec(sql);
  database.close();
}

/** The stored fragments of the only part of a multipart write. */
function storedPart(upload_id: string): string {
  const database = new Database(join(root, ".joust", "catalog.db"), { readonly: true });
  const part = database
    .prepare("select contents from upload_parts where upload_id = ?")
    .get(upload_id) as { contents: string };
  database.close();
  return part.contents;
}

async function insertPart(server: Server, upload_id: string): Promise<void> {
  await server.client.ok("/v1/table/t/insert/", items(2, { from: 100 }), { upload_id });
}

describe("a starting server", () => {
  it("ends multipart writes without activity for a day and keeps the others", async () => {
    const first = await startServer({ root });
    await first.client.createTable("t", items(1));
    const idle = (await first.client.ok(`${upload}/create`)).upload_id;
    const other = (await first.client.ok(`${upload}/create`)).upload_id;
    for (const id of [idle, idle, other]) await insertPart(first, id);
    expect(files()).toBe(4);
    await first.stop();
    edit(`update uploads set touched_at = 0 where id = '${idle}'`);

    const second = await startServer({ root, key: first.key });
    await waitFor("the files are removed", async () => files() === 2);
    const refused = await second.client.post(`${upload}/complete`, undefined, { upload_id: idle });
    expect(refused.status).toBe(400);
    await second.client.ok(`${upload}/complete`, undefined, { upload_id: other });
    expect(await second.client.count("t")).toBe(3);
    await second.stop();
  });

  it("finds the commit of a multipart write that the former server did not record", async () => {
    const first = await startServer({ root });
    const upload_id = (await first.client.ok(`${upload}/create`)).upload_id;
    await insertPart(first, upload_id);
    const { version } = await first.client.ok(`${upload}/complete`, undefined, { upload_id });
    await first.client.insert("t", items(1, { from: 200 }));
    const rows = await first.client.count("t");
    await first.stop();
    edit(`update uploads set state = 'committing', owner = 'gone', result = null where id = '${upload_id}';
      insert into upload_parts values ('p', '${upload_id}', 'a', '')`);

    const second = await startServer({ root, key: first.key });
    const again = await second.client.ok(`${upload}/complete`, undefined, { upload_id });
    expect(again.version).toBe(version);
    expect(await second.client.count("t")).toBe(rows);
    await second.stop();

    // The same without a repeated request: the committed files are not orphaned.
    edit(`update uploads set state = 'committing', owner = 'gone', result = null, touched_at = 0;
      insert into upload_parts values ('q', '${upload_id}', 'a', '')`);
    const third = await startServer({ root, key: first.key });
    await waitFor("the upload is known to be done", async () => {
      const reply = await third.client.post(`${upload}/complete`, undefined, { upload_id });
      return reply.status === 200 && reply.json.version === version;
    });
    expect(await third.client.count("t")).toBe(rows);
    await third.stop();
  });

  it("finds such a commit even if its version was deleted, and returns a conflict if the outcome cannot be determined", async () => {
    const first = await startServer({ root });
    await first.client.createTable("gone", items(1));
    const write = "/v1/table/gone/multipart_write";
    const upload_id = (await first.client.ok(`${write}/create`)).upload_id;
    await first.client.ok("/v1/table/gone/insert/", items(2, { from: 100 }), { upload_id });
    const parts = storedPart(upload_id);
    const { version } = await first.client.ok(`${write}/complete`, undefined, { upload_id });
    await first.client.insert("gone", items(1, { from: 200 }));
    const forget = (server: Server, from: number) =>
      server.client.ok("/v1/table/gone/version/delete", {
        ranges: [{ start_version: from, end_version: from + 1 }],
      });
    await forget(first, version);
    await first.stop();
    const untold = `update uploads set state = 'committing', owner = 'gone', result = null where id = '${upload_id}';
      insert into upload_parts values ('kept', '${upload_id}', 'a', '${parts}')`;
    edit(untold);

    const second = await startServer({ root, key: first.key });
    const again = await second.client.ok(`${write}/complete`, undefined, { upload_id });
    expect(again.version).toBe(version + 1);
    expect(await second.client.count("gone")).toBe(4);
    await second.client.ok("/v1/table/gone/delete", { predicate: "id >= 100" });
    await forget(second, version + 1);
    await second.stop();
    edit(untold);

    const third = await startServer({ root, key: first.key });
    const unknown = await third.client.post(`${write}/complete`, undefined, { upload_id });
    expectFailure(unknown, 409, 14, /read the table/);
    expect(await third.client.count("gone")).toBe(1);
    await third.stop();
  });
});
