import { afterEach, describe, expect, it } from "vitest";
import type { Config } from "../../src/config/config.js";
import { items } from "../harness/arrow.js";
import { setupServer } from "../harness/setup-server.js";
import { plain, setupSmallServer } from "./small-server.js";

const app = "https://app.example";
const other = "http://localhost:3000";
const foreign = "https://evil.example";

const handled: string[] = [];
const read = plain({ id: "Read", path: "/v1/read", methods: ["GET", "POST"] }, () => {
  handled.push("read");
  return { kind: "json", value: "done" };
});
const denied = { identify: (key: string) => (key === "k" ? caller : undefined) };
const caller = { id: "1", name: "page", role: "read", groups: [] } as const;
const small = (config: Partial<Config>) =>
  setupSmallServer({ operations: [read], authenticator: denied, config });

const listed = small({ corsOrigins: [app, other] });
const every = small({ corsOrigins: ["*"] });
const off = small({});
const keyless = setupServer({
  key: null,
  args: ["--auth", "none", "--cors-origins", `${app},${other}`],
});

afterEach(() => {
  handled.length = 0;
});

type Server = Pick<typeof listed, "client">;

const ask = (server: Server, origin: string | undefined, key = "k") =>
  server.client.withKey(key).request("/v1/read", { headers: origin ? { origin } : {} });

/** What a browser sends before a request with a key. */
const preflight = (server: Server, origin: string, path = "/v1/read") =>
  server.client.withKey("").request(path, {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,content-type",
    },
  });

const corsHeaders = (headers: Headers) =>
  [...headers.keys()].filter((name) => name.startsWith("access-control-"));

describe("a server with CORS origins", () => {
  it("answers the preflight of a listed origin without a key and without an operation", async () => {
    for (const origin of [app, other]) {
      const reply = await preflight(listed, origin);
      expect([reply.status, reply.text]).toEqual([204, ""]);
      expect(reply.headers.get("access-control-allow-origin")).toBe(origin);
      expect(reply.headers.get("access-control-allow-methods")).toBe("GET, HEAD, POST");
      const allowed = reply.headers.get("access-control-allow-headers")?.split(", ");
      expect(allowed).toEqual(
        expect.arrayContaining(["authorization", "x-api-key", "content-type", "idempotency-key"]),
      );
      expect(reply.headers.get("access-control-max-age")).toBe("7200");
      expect(reply.headers.get("vary")).toBe("origin");
    }
    expect(handled).toEqual([]);
    // Also for a path that does not exist: a preflight reveals no routes.
    expect((await preflight(listed, app, "/v1/nothing")).status).toBe(204);
  });

  it("gives its replies to listed origins, also failures", async () => {
    for (const [key, status] of [
      ["k", 200],
      ["unknown", 401],
    ] as const) {
      const reply = await ask(listed, app, key);
      expect(reply.status).toBe(status);
      expect(reply.headers.get("access-control-allow-origin")).toBe(app);
      expect(reply.headers.get("access-control-expose-headers")).toContain("x-request-id");
      expect(reply.headers.get("vary")).toBe("origin");
    }
    const health = await listed.client.request("/healthz", {
      method: "GET",
      headers: { origin: app },
    });
    expect(health.headers.get("access-control-allow-origin")).toBe(app);
  });

  it("gives nothing to other origins", async () => {
    for (const origin of [foreign, "https://app.example.evil.example", "null", `${app}:8443`]) {
      const reply = await ask(listed, origin);
      expect([origin, reply.status, corsHeaders(reply.headers)]).toEqual([origin, 200, []]);
      expect(reply.headers.get("vary")).toBe("origin");
      const before = await preflight(listed, origin);
      expect([origin, before.status, corsHeaders(before.headers)]).toEqual([origin, 401, []]);
    }
    expect((await ask(listed, undefined)).headers.get("vary")).toBe("origin");
  });

  it("never allows credentials", async () => {
    for (const server of [listed, every]) {
      for (const reply of [await preflight(server, app), await ask(server, app)]) {
        expect(reply.headers.has("access-control-allow-credentials")).toBe(false);
      }
    }
  });

  it("gives its replies to every origin with *", async () => {
    for (const reply of [await ask(every, foreign), await ask(every, undefined)]) {
      expect(reply.headers.get("access-control-allow-origin")).toBe("*");
      expect(reply.headers.has("vary")).toBe(false);
    }
    expect((await preflight(every, foreign)).status).toBe(204);
    expect((await ask(every, foreign, "unknown")).status).toBe(401);
  });

  it("answers OPTIONS without a preflight's headers as before", async () => {
    const options = (key: string) =>
      listed.client
        .withKey(key)
        .request("/v1/read", { method: "OPTIONS", headers: { origin: app } });
    expect((await options("")).status).toBe(401);
    const reply = await options("k");
    expect([reply.status, reply.headers.get("allow")]).toEqual([204, "GET, POST"]);
  });
});

describe("a server without CORS origins", () => {
  it("takes no identity from a cookie, so that no other page can use it", async () => {
    const names = ["authorization", "x-api-key", "api_key", "session", "joust"];
    const cookie = names.map((name) => `${name}=k`).join("; ");
    const send = (key: string) =>
      off.client.withKey(key).request("/v1/read", { headers: { cookie } });
    expect((await send("")).status).toBe(401);
    expect((await send("k")).status).toBe(200);
  });

  it("allows no origin", async () => {
    const reply = await ask(off, app);
    expect([reply.status, corsHeaders(reply.headers), reply.headers.get("vary")]).toEqual([
      200,
      [],
      null,
    ]);
    expect((await preflight(off, app)).status).toBe(401);
  });
});

describe("a server without keys and with CORS origins", () => {
  const count = (origin: string, host?: string) =>
    keyless.client.request("/v1/table/t/count_rows", {
      body: {},
      headers: { origin, ...(host && { host }) },
    });

  it("accepts the requests of listed origins and refuses those of others", async () => {
    await keyless.client.createTable("t", items(3));
    const reply = await count(app);
    expect([reply.status, reply.json]).toEqual([200, 3]);
    expect(reply.headers.get("access-control-allow-origin")).toBe(app);
    expect((await preflight(keyless, app, "/v1/table/t/count_rows")).status).toBe(204);

    const refused = await count(foreign);
    expect([refused.status, corsHeaders(refused.headers)]).toEqual([403, []]);
    expect(refused.json.detail).toMatch(/--cors-origins/);
    expect((await preflight(keyless, foreign, "/v1/table/t/count_rows")).status).toBe(403);
  });
});
