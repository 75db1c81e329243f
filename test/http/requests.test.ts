import { Type } from "@sinclair/typebox";
import { describe, expect, it } from "vitest";
import { head, sendRaw } from "../harness/socket.js";
import { plain, setupSmallServer } from "./small-server.js";

const json = (value: unknown) => ({ kind: "json" as const, value });

const echo = plain(
  {
    id: "Echo",
    path: "/v1/thing/{id}/echo",
    methods: ["GET", "POST"],
    params: Type.Object({
      limit: Type.Optional(Type.Integer({ minimum: 0 })),
      deep: Type.Optional(Type.Boolean()),
      on: Type.Optional(Type.Array(Type.String())),
    }),
    body: {
      kind: "json",
      schema: Type.Object({
        k: Type.Optional(Type.Integer({ minimum: 0 })),
        name: Type.Optional(Type.String()),
      }),
    },
  },
  ({ id, params, payload, context, fresh }) => json({ id, params, payload, context, fresh }),
);
const later = plain({ id: "Later", path: "/v1/thing/{id}/later" }, async ({ id }) => {
  await new Promise((resolve) => setTimeout(resolve, 5));
  return json({ id });
});
const part = plain({ id: "Part", path: "/v1/thing/{id}/part/{part_name}/get" }, ({ path }) =>
  json(path),
);
const broken = plain({ id: "Broken", path: "/v1/broken" }, () => {
  throw new TypeError("cannot read /etc/secret");
});
const empty = plain({ id: "Empty", path: "/v1/empty" }, () => ({ kind: "empty", status: 204 }));
const large = plain({ id: "Large", path: "/v1/large", methods: ["GET"] }, () =>
  json("x".repeat(3_000_000)),
);

const small = setupSmallServer({ operations: [echo, later, part, broken, empty, large] });
const at = (path: string, body?: object | string, params?: Record<string, string>) =>
  small.client.post(path, body, params);

describe("an identifier", () => {
  it.each([
    ["a", ["a"]],
    ["a$b", ["a", "b"]],
    ["a%24b", ["a", "b"]],
    ["$", []],
    ["%24", []],
    ["%C3%A4%2Fb", ["ä/b"]],
  ])("%s is split into names", async (segment, id) => {
    expect((await at(`/v1/thing/${segment}/echo`)).json.id).toEqual(id);
  });

  it("is split at the delimiter of the request", async () => {
    const answer = await at("/v1/thing/a.b$c/echo", undefined, { delimiter: "." });
    expect(answer.json.id).toEqual(["a", "b$c"]);
    const root = await at("/v1/thing/./later", undefined, { delimiter: "." });
    expect(root.status, "fetch resolves dots before sending").toBe(404);
    expect((await at("/v1/thing/%3A%3A/echo", undefined, { delimiter: "::" })).json.id).toEqual([]);
  });

  it.each(["a$$b", "$a", "a$", "%FF"])("%s is rejected", async (segment) => {
    const answer = await at(`/v1/thing/${segment}/echo`);
    expect(answer.status).toBe(400);
    expect(answer.json.code).toBe(13);
  });

  it("is rejected with an empty delimiter or with two delimiters", async () => {
    expect((await at("/v1/thing/a/echo?delimiter=")).json.code).toBe(13);
    expect((await at("/v1/thing/a/echo?delimiter=.&delimiter=$")).json.code).toBe(13);
  });

  it("in the body must match the path", async () => {
    expect((await at("/v1/thing/a$b/echo", { id: ["a", "b"] })).status).toBe(200);
    const other = await at("/v1/thing/a$b/echo", { id: ["a", "c"] });
    expect(other.status).toBe(400);
    expect(other.json.code).toBe(13);
    expect(other.json.detail).toContain('["a","c"]');
    expect((await at("/v1/thing/a$b/echo", { id: "a$b" })).status).toBe(400);
    expect((await at("/v1/thing/a$b/echo", { id: null })).status).toBe(200);
    // The Java client sends this with every body.
    expect((await at("/v1/thing/a$b/echo", { id: [] })).json.id).toEqual(["a", "b"]);
    expect((await at("/v1/thing/$/echo", { id: ["a"] })).status).toBe(400);
  });

  it("does not change how the other path parameters are decoded", async () => {
    expect((await at("/v1/thing/a/part/x%24y%20z/get")).json).toEqual({ part_name: "x$y z" });
  });
});

describe("query parameters", () => {
  it("are converted to the types of the schema, and unknown ones are ignored", async () => {
    const answer = await at("/v1/thing/a/echo?limit=10&deep=TRUE&on=x&nonsense=1");
    expect(answer.json.params).toEqual({ limit: 10, deep: true, on: ["x"] });
    const repeated = await at("/v1/thing/a/echo?on=x&on=y+z");
    expect(repeated.json.params).toEqual({ on: ["x", "y z"] });
  });

  it.each([
    ["limit=ten", '`limit` must be an integer >= 0, got "ten"'],
    ["limit=-1", "`limit` must be an integer >= 0, got -1"],
    ["limit=1.5", "`limit` must be an integer >= 0, got 1.5"],
    ["limit=1&limit=2", "`limit` appears 2 times: send it once"],
    ["deep=maybe", '`deep` must be true or false, got "maybe"'],
    ["limit=%ZZ", "the query string is not percent-encoded UTF-8"],
  ])("%s are rejected", async (query, detail) => {
    const answer = await at(`/v1/thing/a/echo?${query}`);
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ code: 13, detail });
  });
});

describe("a request body", () => {
  it("may be absent in a POST, whatever the content type", async () => {
    const bare = await sendRaw(small.url, [head("POST /v1/thing/a/echo HTTP/1.1", "Host: x")], 200);
    expect(bare?.status).toBe(200);
    const typed = await sendRaw(
      small.url,
      [
        head(
          "POST /v1/thing/a/echo HTTP/1.1",
          "Host: x",
          "Content-Type: text/plain",
          "Content-Length: 0",
        ),
      ],
      200,
    );
    expect(typed?.status).toBe(200);
  });

  it("may be chunked in any way", async () => {
    const answer = await sendRaw(
      small.url,
      [
        head("POST /v1/thing/a/echo HTTP/1.1", "Host: x", "Transfer-Encoding: chunked"),
        '3\r\n{"k\r\n',
        '4\r\n": 7\r\n1\r\n}\r\n',
        "0\r\n\r\n",
      ],
      300,
    );
    expect(answer?.status).toBe(200);
    expect(JSON.parse(answer?.body ?? "").payload).toEqual({ k: 7 });
  });

  it("is requested after `Expect: 100-continue`", async () => {
    const answer = await sendRaw(
      small.url,
      [
        head(
          "POST /v1/thing/a/echo HTTP/1.1",
          "Host: x",
          "Expect: 100-continue",
          "Content-Length: 8",
        ),
        '{"k": 1}',
      ],
      300,
    );
    expect(answer?.status).toBe(100);
    expect(answer?.body).toMatch(/^HTTP\/1.1 200 OK/);
  });

  it.each([
    ['{"k": "ten"}', '`k` must be an integer >= 0, got "ten"'],
    ['{"k": 1.5}', "`k` must be an integer >= 0, got 1.5"],
    ["[1]", "the body must be a JSON object, got an array"],
    ["7", "the body must be a JSON object, got a number"],
    ["null", "the body must be a JSON object, got null"],
  ])("gets 400 and the cause: %s", async (body, detail) => {
    const answer = await at("/v1/thing/a/echo", body);
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ code: 13, detail });
  });

  it("is rejected if it is not JSON or not UTF-8", async () => {
    const cut = await at("/v1/thing/a/echo", '{"k": ');
    expect(cut.json).toMatchObject({ status: 400, code: 13 });
    expect(cut.json.detail).toMatch(/^the body is not JSON: /);
    const latin = await small.client.request("/v1/thing/a/echo", {
      body: new Uint8Array([0x22, 0xe4, 0x22]),
      headers: { "content-type": "application/json" },
    });
    expect(latin.json).toMatchObject({ code: 13, detail: "the body is not UTF-8" });
  });

  it("may contain null for an optional member and any unknown member", async () => {
    const answer = await at("/v1/thing/a/echo", { k: null, name: "n", color: "red" });
    expect(answer.status).toBe(200);
    expect(answer.json.payload).toEqual({ name: "n", color: "red" });
  });

  it("is rejected with another content type", async () => {
    const answer = await small.client.request("/v1/thing/a/echo", {
      body: "k=1",
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    expect(answer.status).toBe(415);
    expect(answer.json).toMatchObject({ code: 13, status: 415 });
    expect(answer.json.detail).toContain("application/json");
    const charset = await small.client.request("/v1/thing/a/echo", {
      body: "{}",
      headers: { "content-type": "Application/JSON; charset=utf-8" },
    });
    expect(charset.status).toBe(200);
  });

  it("over the size limit is rejected after the client has sent all of it", async () => {
    const body = `{"name": "${"x".repeat(1_000_000)}"}`;
    const answer = await at("/v1/thing/a/echo", body);
    expect(answer.status).toBe(413);
    expect(answer.json).toMatchObject({ code: 13 });
    expect(answer.json.detail).toContain("65536 bytes");
    expect((await at("/v1/thing/a/echo", `{"name": "${"x".repeat(60_000)}"}`)).status).toBe(200);
  });
});

describe("the request context", () => {
  it("is read from headers and from the body, and a header takes precedence", async () => {
    const answer = await small.client.request("/v1/thing/a/echo", {
      body: { context: { tenant: "body", trace: "t" } },
      headers: { "x-ns-ctx-tenant": "header", "X-Ns-Ctx-Region": "r" },
    });
    expect(answer.json.context).toEqual({ tenant: "header", trace: "t", region: "r" });
    expect((await at("/v1/thing/a/echo", { context: { a: 1 } })).json.code).toBe(13);
  });

  it("contains the minimum timestamp and the minimum version of a read", async () => {
    const send = async (headers: Record<string, string>) =>
      (await small.client.request("/v1/thing/a/echo", { headers })).json;
    expect((await send({})).fresh).toEqual({});
    const time = { "x-lancedb-min-timestamp": "2026-01-31T12:00:00+02:00" };
    const minTimestampMillis = Date.UTC(2026, 0, 31, 10);
    expect((await send(time)).fresh).toEqual({ minTimestampMillis });
    const versions = { "x-lancedb-min-version": "3", "x-lancedb-min-read-version": "12" };
    expect((await send({ ...time, ...versions })).fresh).toEqual({
      minTimestampMillis,
      minVersion: 12,
    });
    expect(await send({ "x-lancedb-min-timestamp": "yesterday" })).toMatchObject({ code: 13 });
    for (const version of ["x", "-1", "1.5", "1e3", "99999999999999999999"]) {
      for (const name of Object.keys(versions)) {
        const { code, detail } = await send({ [name]: version });
        expect([code, detail]).toEqual([13, expect.stringContaining(name)]);
      }
    }
  });
});

describe("a response", () => {
  it("has the protocol version and the request id", async () => {
    const answer = await small.client.request("/v1/thing/a/echo", {
      headers: { "x-request-id": "my-id.7" },
    });
    expect(answer.headers.get("phalanx-version")).toBe("0.5.0");
    expect(answer.headers.get("x-request-id")).toBe("my-id.7");
    const odd = await small.client.request("/v1/nothing", {
      headers: { "x-request-id": "has spaces" },
    });
    expect(odd.headers.get("phalanx-version")).toBe("0.5.0");
    expect(odd.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("may be empty or large", async () => {
    const none = await at("/v1/empty");
    expect(none.status).toBe(204);
    expect(none.bytes.length).toBe(0);
    expect(none.headers.get("content-length")).toBeNull();
    const long = await small.client.get("/v1/large");
    expect(long.json.length).toBe(3_000_000);
  });

  it("is framed correctly for several methods on one connection", async () => {
    const request = (line: string) => head(line, "Host: x");
    const answer = await sendRaw(
      small.url,
      [request("HEAD /v1/thing/a/echo HTTP/1.1") + request("GET /v1/thing/b/echo HTTP/1.1")],
      300,
    );
    expect(answer?.status).toBe(200);
    expect(Number(answer?.headers["content-length"])).toBeGreaterThan(0);
    expect(answer?.body).toMatch(/^HTTP\/1.1 200 OK/);
    expect(answer?.body).toContain('"id":["b"]');
  });

  it("to an unexpected error does not reveal the cause", async () => {
    const answer = await at("/v1/broken");
    expect(answer.status).toBe(500);
    expect(answer.json).toMatchObject({ code: 18, title: "internal", instance: "/v1/broken" });
    expect(answer.text).not.toContain("secret");
  });
});

describe("an unknown path or method", () => {
  it("gets 404 with similar routes", async () => {
    const answer = await at("/v1/thing/a/ekko");
    expect(answer.status).toBe(404);
    expect(answer.json).toMatchObject({ code: 0, type: "urn:joust:error:unsupported" });
    expect(answer.json.detail).toContain("GET /v1/thing/{id}/echo");
  });

  it.each(["/", "/v1", "/v1/thing", "/v1/thing//echo", "/v1/thing/a/echo/", "/v2/thing/a/echo"])(
    "gets 404: %s",
    async (path) => {
      expect((await at(path)).status).toBe(404);
    },
  );

  it("does not include a path with several leading slashes", async () => {
    const answer = await sendRaw(
      small.url,
      [head("GET //v1/thing/a/echo HTTP/1.1", "Host: x")],
      200,
    );
    expect(JSON.parse(answer?.body ?? "").id).toEqual(["a"]);
  });

  it("gets 405 with the allowed methods", async () => {
    const answer = await small.client.request("/v1/thing/a/later", { method: "DELETE" });
    expect(answer.status).toBe(405);
    expect(answer.headers.get("allow")).toBe("POST");
    expect(answer.json).toMatchObject({ code: 0, status: 405 });
    const options = await small.client.request("/v1/thing/a/echo", { method: "OPTIONS" });
    expect(options.status).toBe(204);
    expect(options.headers.get("allow")).toBe("GET, POST");
  });
});

describe("the health probes", () => {
  it("require no key", async () => {
    expect((await small.client.get("/healthz")).json).toEqual({ status: "ok" });
    expect((await small.client.get("/readyz")).status).toBe(200);
  });
});
