import { cpSync, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import { expectFailure } from "../harness/expect-failure.js";
import { newKey, type Server } from "../harness/server.js";
import { startServerForTest } from "../harness/setup-server.js";
import { beginCreate } from "../harness/socket.js";
import { removeDir, tempDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";

let root: string;
let elsewhere: string;
const key = newKey();
beforeEach(() => {
  root = tempDir("served");
  elsewhere = tempDir("elsewhere");
});
afterEach(() => {
  removeDir(root);
  removeDir(elsewhere);
});

const serve = (at: string): Promise<Server> => startServerForTest({ root: at, key });

/** A table directory written by another Lance tool, unknown to the served root. */
async function writeElsewhere(rows: number): Promise<string> {
  const server = await serve(elsewhere);
  await server.client.createTable("t", items(rows));
  await server.stop();
  return join(elsewhere, "t.lance");
}

const names = async (server: Server): Promise<string[]> =>
  (await server.client.get("/v1/namespace/$/table/list")).json.tables;

describe("a root that already contains tables", () => {
  it("is served as it is, and later additions of other tools are found", async () => {
    const table = await writeElsewhere(7);
    cpSync(table, join(root, "before.lance"), { recursive: true });
    const server = await serve(root);
    expect(await names(server)).toEqual(["before"]);
    expect(await server.client.count("before")).toBe(7);
    await server.client.insert("before", items(3, { from: 7 }));
    expect(await server.client.count("before")).toBe(10);

    cpSync(table, join(root, "meanwhile.lance"), { recursive: true });
    await waitFor("it is listed", async () => (await names(server)).includes("meanwhile"));
    expect(await server.client.count("meanwhile")).toBe(7);

    cpSync(table, join(root, "asked.lance"), { recursive: true });
    await waitFor("it is found by name", async () => (await server.client.count("asked")) === 7);
  });

  it("keeps a table that another tool has just placed at the location of a new table", async () => {
    const table = await writeElsewhere(7);
    const server = await serve(root);
    await names(server);
    cpSync(table, join(root, "t.lance"), { recursive: true });
    expectFailure(await server.client.post("/v1/table/t/create", items(1)), 409, 5);
    expect(await server.client.count("t")).toBe(7);
  });

  it("does not show a dropped table again, even after a restart", async () => {
    cpSync(await writeElsewhere(7), join(root, "t.lance"), { recursive: true });
    const server = await serve(root);
    await server.client.ok("/v1/table/t/drop", {});
    expect(await names(server)).toEqual([]);
    await server.stop();
    const again = await serve(root);
    expect(await names(again)).toEqual([]);
    expect(existsSync(join(root, "t.lance"))).toBe(false);
  });
});

describe("a server killed during a create", () => {
  it("leaves neither a name nor files after a restart", async () => {
    const server = await serve(root);
    await server.client.createNamespace("n");
    const socket = beginCreate(server, "n$t");
    await waitFor("files are being written", () => readdirSync(root).length > 1);
    expectFailure(await server.client.post("/v1/table/n$t/create", items(1)), 409, 14);
    expectFailure(await server.client.post("/v1/table/n$t/describe", {}), 404, 4);
    await server.kill();
    socket.destroy();

    const again = await serve(root);
    expect(readdirSync(root)).toEqual([".joust"]);
    await again.client.createTable("n$t", items(5));
    expect(await again.client.count("n$t")).toBe(5);
  });
});
