/** Who may complete an upload that another caller has sent. */
import { beforeAll, describe, expect, it } from "vitest";
import type { Privilege } from "../../../src/catalog/grants/privileges.js";
import { items } from "../../harness/arrow.js";
import type { Client } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";
import { setupGrants } from "./grant-callers.js";

const ROWS = 5;
const PARTS = 2;

// The operation runs in the main thread, and the check in the thread of the request.
describe.each(["1", "2"])("the completion of an upload, with %s HTTP threads", (threads) => {
  const joust = setupServer({ args: ["--http-threads", threads] });
  const granted = setupGrants(joust);
  let tables = 0;

  beforeAll(() => joust.client.createNamespace("m"));

  /** A table with an upload of the administrator, and a caller with these privileges on the table. */
  async function setUp(mode: "append" | "overwrite", privileges: readonly Privilege[]) {
    const name = `m$t${++tables}`;
    await joust.client.createTable(name, items(ROWS));
    const at = `/v1/table/${encodeURIComponent(name)}`;
    const { upload_id } = await joust.client.ok(`${at}/multipart_write/create`);
    await joust.client.insert(name, items(PARTS, { from: 100 }), { upload_id, mode });
    const { client, id } = await granted.caller({ [`table:${name}`]: privileges });
    const complete = (by: Client = client, upload = upload_id) =>
      by.post(`${at}/multipart_write/complete`, {}, { upload_id: upload });
    return { at, name, client, id, complete, count: () => joust.client.count(name) };
  }

  it("needs only insert if the upload appends", async () => {
    const { complete, count } = await setUp("append", ["insert"]);
    expect((await complete()).status).toBe(200);
    expect((await complete()).status).toBe(200);
    expect(await count()).toBe(ROWS + PARTS);
  });

  it.each([[["insert"]], [["insert", "delete"]], [["insert", "update"]]] as const)(
    "is denied to a caller with %j if the upload replaces the rows",
    async (privileges) => {
      const { complete, count } = await setUp("overwrite", privileges);
      const missing = (["update", "delete"] as const).filter(
        (privilege) => !(privileges as readonly Privilege[]).includes(privilege),
      );
      expectFailure(await complete(), 403, 15, new RegExp(missing.join(".*")));
      expect(await count()).toBe(ROWS);
      // The request has not changed the upload.
      expect((await complete(joust.client)).status).toBe(200);
      expect(await count()).toBe(PARTS);
      // The reply to a repeated request needs what the commit needed.
      expectFailure(await complete(), 403, 15);
    },
  );

  it("replaces the rows for a caller with insert, update and delete", async () => {
    const { complete, count } = await setUp("overwrite", ["insert", "update", "delete"]);
    expect((await complete()).status).toBe(200);
    expect(await count()).toBe(PARTS);
  });

  it("does not replace the rows for a caller with a row filter", async () => {
    const { name, complete, count } = await setUp("overwrite", ["insert"]);
    const all = ["insert", "update", "delete"] as const;
    const { client } = await granted.filteredCaller(`table:${name}`, all, "id >= 0");
    expectFailure(await complete(client), 403, 15);
    expect(await count()).toBe(ROWS);
  });

  it("reports that an upload has no parts before it checks privileges", async () => {
    const { at, client, complete } = await setUp("append", ["insert"]);
    const { upload_id } = await client.ok(`${at}/multipart_write/create`);
    expectFailure(await complete(client, upload_id), 400, 13, /has no parts/);
    expectFailure(await complete(client, "x"), 400, 13, /has no upload "x"/);
  });
});
