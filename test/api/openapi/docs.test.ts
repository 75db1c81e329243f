import { describe, expect, it } from "vitest";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const anonymous = () => joust.client.withKey("");

describe("/docs", () => {
  it("returns a page without authentication and loads only files of this server", async () => {
    const page = await anonymous().get("/docs");
    expect(page.status).toBe(200);
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    const policy = page.headers.get("content-security-policy") ?? "";
    expect(policy.split("; ")).toEqual(
      expect.arrayContaining(["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"]),
    );
    expect(policy).not.toMatch(/unsafe-eval|script-src[^;]*unsafe/);
    expect(page.headers.get("x-frame-options")).toBe("DENY");
    const parts = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link);
    const files = parts.filter((link) => link !== "data:,");
    expect(files).toHaveLength(4);
    for (const file of files) {
      const answer = await anonymous().get(`/${file}`);
      expect([file, answer.status]).toEqual([file, 200]);
      const type = file?.endsWith(".css") ? "text/css" : "text/javascript";
      expect(answer.headers.get("content-type")).toBe(`${type}; charset=utf-8`);
    }
    expect((await anonymous().get("/docs/swagger-ui-bundle.js")).text).toContain("SwaggerUIBundle");
  });

  it("fetches the OpenAPI document with the key of the user", async () => {
    expect((await anonymous().get("/docs/page.js")).text).toContain('fetch("openapi.json"');
    expectFailure(await anonymous().get("/openapi.json"), 401, 16);
    expect((await joust.client.get("/openapi.json")).status).toBe(200);
  });

  it("returns the same page with a trailing slash", async () => {
    expect((await anonymous().get("/docs/")).text).toBe((await anonymous().get("/docs")).text);
  });

  it("answers HEAD and returns 401 or 404 for every other path and method", async () => {
    const head = await anonymous().request("/docs", { method: "HEAD" });
    expect([head.status, head.bytes.length]).toEqual([200, 0]);
    for (const path of ["/docs/index.html", "/docs/../cli/main.js", "/docs/%2e%2e/x", "/docs/x"]) {
      expectFailure(await anonymous().get(path), 401, 16);
    }
    expectFailure(await anonymous().post("/docs", {}), 401, 16);
    expectFailure(await joust.client.get("/docs/x"), 404, 0);
  });
});
