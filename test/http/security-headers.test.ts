import { readFileSync } from "node:fs";
import { request } from "node:https";
import { expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import { newCertificate } from "../harness/certificate.js";
import { setupServer, startServerForTest } from "../harness/setup-server.js";
import { exchangeRaw, head } from "../harness/socket.js";
import { tempDir } from "../harness/temp.js";

const joust = setupServer();

const expected = {
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
};

const security = (headers: Headers) =>
  Object.fromEntries([...headers].filter(([name]) => name in expected));

it("every reply has the security headers, and without TLS no HSTS", async () => {
  const { client } = joust;
  await client.createTable("t", items(2_000));
  const replies = {
    "a probe": await client.get("/healthz"),
    JSON: await client.post("/v1/table/t/count_rows", {}),
    Arrow: await client.post("/v1/table/t/query", { k: 2_000 }),
    "a failure": await client.post("/v1/table/missing/describe"),
    "an unknown route": await client.get("/nothing"),
    "an unauthenticated caller": await client.withKey("").get("/v1/table"),
    "an empty reply": await client.request("/v1/table", { method: "OPTIONS" }),
    HEAD: await client.request("/v1/table", { method: "HEAD" }),
    "a page": await client.get("/docs"),
    "a script": await client.get("/docs/page.js"),
  };
  for (const [name, { headers }] of Object.entries(replies)) {
    expect([name, security(headers)]).toEqual([name, expected]);
    expect(headers.has("strict-transport-security")).toBe(false);
  }
  expect(replies["a page"].headers.get("x-frame-options")).toBe("DENY");
});

it("a reply to ambiguous framing has them too", async () => {
  const lines = ["Host: x", "Content-Length: 2", "Content-Length: 3"];
  const { text } = await exchangeRaw(joust.server.url, [head("POST / HTTP/1.1", ...lines)]);
  expect(text).toMatch(/^HTTP\/1\.1 400 /);
  for (const [name, value] of Object.entries(expected)) expect(text).toContain(`${name}: ${value}`);
});

it("with TLS every reply asks for HTTPS from now on", async () => {
  const dir = tempDir("hsts");
  const tls = newCertificate(dir, "hsts");
  const args = ["--tls-cert", tls.certFile, "--tls-key", tls.keyFile];
  const server = await startServerForTest({ args });
  const headers = await new Promise((resolve, reject) => {
    const options = { ca: readFileSync(tls.certFile), checkServerIdentity: () => undefined };
    request(new URL("/healthz", server.url), options, (reply) => {
      reply.resume().on("end", () => resolve(reply.headers));
    })
      .on("error", reject)
      .end();
  });
  expect(headers).toMatchObject({ ...expected, "strict-transport-security": "max-age=31536000" });
});
