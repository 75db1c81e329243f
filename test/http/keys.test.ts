import { Type } from "@sinclair/typebox";
import { describe, expect, it } from "vitest";
import { KeyAuthenticator } from "../../src/auth/authenticator.js";
import { hashKey, newKey } from "../../src/auth/key.js";
import type { Role } from "../../src/auth/roles.js";
import { openCatalog } from "../../src/server/open-catalog.js";
import { createLogger } from "../../src/telemetry/logger.js";
import { tempDir } from "../harness/temp.js";
import { plain, setupSmallServer } from "./small-server.js";

const root = tempDir("keys");
const log = createLogger("silent");
const { keys } = await openCatalog({ root, url: `${root}/catalog.db`, log, role: "tool" });
const outside = newKey();

const answer = () => ({ kind: "json" as const, value: "done" });
const small = setupSmallServer({
  operations: [
    plain({ id: "Read", path: "/v1/read", permission: "read" }, answer),
    plain({ id: "Write", path: "/v1/write", permission: "write" }, answer),
    plain({ id: "Admin", path: "/v1/admin", permission: "admin" }, answer),
    plain(
      { id: "Raw", path: "/v1/raw", body: { kind: "raw-json", schema: Type.Object({}) } },
      ({ payload }) => ({
        kind: "json",
        value: payload.byteLength,
      }),
    ),
  ],
  authenticator: new KeyAuthenticator(keys, outside),
});

async function stored(role: Role): Promise<{ key: string; id: string }> {
  const key = newKey();
  return { key, id: (await keys.create({ name: `a ${role}`, role, hash: hashKey(key) })).id };
}

const send = (path: string, headers: Record<string, string>, body?: object | string) =>
  small.client.request(path, { headers, ...(body !== undefined && { body }) });
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

describe("a request", () => {
  it("requires a key on every path", async () => {
    for (const path of ["/v1/read", "/v1/raw", "/v1/nothing", "/"]) {
      const reply = await send(path, {});
      expect(reply.status, path).toBe(401);
      expect(reply.json).toMatchObject({ code: 16, type: "urn:joust:error:unauthenticated" });
      expect(reply.headers.get("www-authenticate")).toBe("Bearer");
    }
    expect((await send("/healthz", {})).status).toBe(200);
    expect((await send("/readyz", {})).status).toBe(200);
  });

  it("can send the key in either header", async () => {
    const { key } = await stored("read");
    expect((await send("/v1/read", bearer(key))).status).toBe(200);
    expect((await send("/v1/read", { authorization: `bearer ${key}` })).status).toBe(200);
    expect((await send("/v1/read", { "x-api-key": key })).status).toBe(200);
    expect((await send("/v1/read", { "x-api-key": outside })).status).toBe(200);
  });

  it.each([
    ["an unknown key", bearer(newKey())],
    ["a text that is not a key", bearer("joust_")],
    ["another scheme", { authorization: "Basic am91c3Q6am91c3Q=" }],
    ["an empty header", { authorization: "" }],
    ["part of a key", bearer(outside.slice(0, -1))],
    ["more than a key", bearer(`${outside}A`)],
  ])("gets 401 with %s", async (_, headers) => {
    expect((await send("/v1/read", headers)).status).toBe(401);
  });

  it("gets 401 with the time if the key has expired", async () => {
    const key = newKey();
    const made = { name: "short", role: "read", hash: hashKey(key), lifetimeMs: -1 } as const;
    await keys.create(made);
    for (const reply of [
      await send("/v1/read", bearer(key)),
      await send("/v1/read", {}, { identity: { api_key: key } }),
      await send("/v1/nothing", bearer(key)),
    ]) {
      expect(reply.status).toBe(401);
      expect(reply.json).toMatchObject({
        code: 16,
        detail: expect.stringMatching(/^the API key expired at \d{4}-\S+Z: ask the administrator/),
      });
    }
  });

  it("may use the former key of a rotation for the overlap, with the same identity", async () => {
    const { key, id } = await stored("write");
    const next = newKey();
    await keys.rotate(id, { hash: hashKey(next), overlapMs: 60_000 });
    expect((await send("/v1/write", bearer(key))).status).toBe(200);
    expect((await send("/v1/write", bearer(next))).status).toBe(200);
    const last = newKey();
    await keys.rotate(id, { hash: hashKey(last), overlapMs: 0 });
    const statuses = [key, next, last].map(
      async (one) => (await send("/v1/write", bearer(one))).status,
    );
    expect(await Promise.all(statuses)).toEqual([401, 401, 200]);
    expect(await keys.revoke(id)).toBe(true);
    expect((await send("/v1/write", bearer(last))).status).toBe(401);
  });

  it("gets 401 with a revoked key", async () => {
    const { key, id } = await stored("admin");
    expect((await send("/v1/admin", bearer(key))).status).toBe(200);
    await keys.revoke(id);
    expect((await send("/v1/admin", bearer(key))).status).toBe(401);
  });

  it("may do what the role of its key allows", async () => {
    const allowed = { read: [200, 403, 403], write: [200, 200, 403], admin: [200, 200, 200] };
    for (const role of ["read", "write", "admin"] as const) {
      const { key } = await stored(role);
      const replies = await Promise.all(
        ["/v1/read", "/v1/write", "/v1/admin"].map((path) => send(path, bearer(key))),
      );
      expect(replies.map((reply) => reply.status)).toEqual(allowed[role]);
    }
    const { key } = await stored("read");
    const refused = await send("/v1/write", bearer(key));
    expect(refused.json).toMatchObject({
      code: 15,
      detail: "the key `a read` has the role read; Write needs write",
    });
  });
});

describe("an identity in the request body", () => {
  it("is used if the request has no key header", async () => {
    const { key } = await stored("read");
    expect((await send("/v1/read", {}, { identity: { api_key: key } })).status).toBe(200);
    expect((await send("/v1/read", {}, { identity: { auth_token: key } })).status).toBe(200);
    const body = JSON.stringify({ identity: { api_key: key }, k: 1 });
    expect((await send("/v1/raw", {}, body)).json).toBe(body.length);
    expect((await send("/v1/read", {}, { identity: { api_key: newKey() } })).status).toBe(401);
    expect((await send("/v1/read", {}, { identity: null })).status).toBe(401);
    expect((await send("/v1/read", {}, { identity: { api_key: 7 } })).status).toBe(401);
  });

  it("is ignored if the request has a key header", async () => {
    const { key } = await stored("read");
    const reply = await send("/v1/read", bearer(newKey()), { identity: { api_key: key } });
    expect(reply.status).toBe(401);
    const mine = await send("/v1/read", bearer(key), { identity: { api_key: "nonsense" } });
    expect(mine.status).toBe(200);
  });
});
