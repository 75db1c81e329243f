import { describe, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import { setupServer, type TestServer } from "../harness/setup-server.js";
import { head, sendRaw } from "../harness/socket.js";

const open = setupServer({ key: null, args: ["--auth", "none"] });
const named = setupServer({
  key: null,
  args: ["--auth", "none", "--allowed-host", "tables.example"],
});
const keyed = setupServer();

/** The status of a request with these header lines; PORT is replaced by the server's port. */
async function status(
  { server }: TestServer,
  request: string,
  lines: readonly string[],
  body = "",
): Promise<number | undefined> {
  const filled = lines.map((line) => line.replace("PORT", String(server.port)));
  const length = body === "" ? [] : [`Content-Length: ${body.length}`];
  const sent = head(`${request} HTTP/1.1`, ...filled, ...length, "Connection: close");
  return (await sendRaw(server.url, [sent, body], 5_000))?.status;
}

const json = "Content-Type: application/json";
const count = "POST /v1/table/t/count_rows";

describe("a server without keys", () => {
  it.each([
    "127.0.0.1:PORT",
    "127.0.0.1",
    "127.9.8.7:1",
    "localhost:PORT",
    "LOCALHOST",
    "[::1]:PORT",
    "[::1]",
  ])("accepts requests with the Host %s", async (host) => {
    expect(await status(open, "GET /v1/table", [`Host: ${host}`])).toBe(200);
  });

  it.each([
    "evil.example:PORT",
    "evil.example",
    "127.0.0.1.evil.example:PORT",
    "localhost.evil.example",
    "0.0.0.0:PORT",
    "127.0.0.1@evil.example",
    "evil.example@127.0.0.1",
    "[::2]:PORT",
    "tables.example",
  ])("rejects requests with the Host %s", async (host) => {
    for (const request of ["GET /v1/table", "POST /v1/table/t/drop", "GET /docs", "GET /nothing"]) {
      expect([request, await status(open, request, [`Host: ${host}`])]).toEqual([request, 403]);
    }
    expect(await status(open, "GET /healthz", [`Host: ${host}`])).toBe(200);
  });

  it("tells in the error how to allow a host", async () => {
    const foreign = (lines: string[]) =>
      sendRaw(open.server.url, [head("GET /v1/table HTTP/1.1", ...lines, "Connection: close")]);
    const byHost = JSON.parse((await foreign(["Host: evil.example"]))?.body ?? "");
    expect(byHost).toMatchObject({ code: 15, detail: expect.stringMatching(/--allowed-host/) });
    const origin = ["Host: localhost", "Origin: http://evil.example"];
    const byOrigin = JSON.parse((await foreign(origin))?.body ?? "");
    expect(byOrigin.detail).toMatch(/evil\.example.*--allowed-host/);
  });

  it("accepts requests from its own pages and rejects requests from other origins", async () => {
    await open.client.createTable("t", items(3));
    const send = (host: string, origin: string) =>
      status(open, count, [`Host: ${host}`, `Origin: ${origin}`, json], "{}");
    expect(await send("127.0.0.1:PORT", "http://127.0.0.1:PORT")).toBe(200);
    expect(await send("localhost:PORT", "http://LOCALHOST:PORT")).toBe(200);
    expect(await send("localhost", "http://localhost:80")).toBe(200);
    for (const origin of [
      "http://evil.example",
      "https://evil.example:PORT",
      "http://localhost:PORT",
      "http://127.0.0.1:1",
      "https://127.0.0.1:PORT",
      "http://127.0.0.1:PORT.evil.example",
      "http://127.0.0.1:PORT@evil.example",
      "null",
      "file://",
      "",
    ]) {
      expect([origin, await send("127.0.0.1:PORT", origin)]).toEqual([origin, 403]);
    }
    // Without body and content type: a request that a browser sends without preflight.
    const drop = ["Host: 127.0.0.1:PORT", "Origin: http://evil.example"];
    expect(await status(open, "POST /v1/table/t/drop", drop)).toBe(403);
    expect(await open.client.count("t")).toBe(3);
  });

  it("accepts only the content type of the operation", async () => {
    const { client } = open;
    await client.createTable("typed", items(3));
    const remove = (type: string[]) =>
      status(
        open,
        "POST /v1/table/typed/delete",
        ["Host: localhost", ...type],
        '{"predicate": "true"}',
      );
    expect(await remove([])).toBe(415);
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
      expect([type, await remove([`Content-Type: ${type}`])]).toEqual([type, 415]);
    }
    expect(await client.count("typed")).toBe(3);
    const untyped = new Blob([items(2) as Uint8Array<ArrayBuffer>]);
    const insert = await fetch(`${client.url}/v1/table/typed/insert`, {
      method: "POST",
      body: untyped,
    });
    expect(insert.status).toBe(415);
    expect(await remove(["Content-Type: application/json; charset=utf-8"])).toBe(200);
    await client.insert("typed", items(2));
    expect(await client.count("typed")).toBe(2);
    // Clients omit the content type of an empty body.
    expect(await status(open, "POST /v1/table/typed/describe", ["Host: localhost"])).toBe(200);
    expect(
      await status(open, "POST /v1/table/typed/drop/", ["Host: localhost", "Content-Length: 0"]),
    ).toBe(200);
  });

  it("accepts the configured host names and their origins", async () => {
    const lines = (host: string, origin: string) => [`Host: ${host}`, `Origin: ${origin}`];
    const send = (...given: [string, string]) => status(named, "GET /v1/table", lines(...given));
    expect(await status(named, "GET /v1/table", ["Host: tables.example:8443"])).toBe(200);
    expect(await status(named, "GET /v1/table", ["Host: Tables.Example"])).toBe(200);
    expect(await status(named, "GET /v1/table", ["Host: not.tables.example"])).toBe(403);
    // Behind a proxy that terminates TLS the scheme of the origin differs.
    expect(await send("tables.example", "https://tables.example")).toBe(200);
    expect(await send("localhost", "https://tables.example:8443")).toBe(200);
    expect(await send("tables.example", "https://evil.example")).toBe(403);
  });
});

it("a server with keys accepts any Host and any Origin", async () => {
  const key = `Authorization: Bearer ${keyed.server.key}`;
  const lines = ["Host: evil.example", "Origin: http://evil.example", key];
  expect(await status(keyed, "GET /v1/table", lines)).toBe(200);
  expect(await status(keyed, "GET /v1/table", lines.slice(0, 2))).toBe(401);
});
