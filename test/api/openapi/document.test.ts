import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import { contract } from "../../../src/operations/index.js";
import type { Json } from "../../harness/client.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();

describe("GET /openapi.json", () => {
  it("describes every operation", async () => {
    const reply = await joust.client.get("/openapi.json");
    expect(reply.status).toBe(200);
    expect(reply.headers.get("content-type")).toMatch(/^application\/json/);
    const document = reply.json;
    expect(document.openapi).toBe("3.1.0");
    for (const { id, methods, path, summary } of contract) {
      const [first, ...others] = methods.map(
        (method) => document.paths[path][method.toLowerCase()],
      );
      expect(first).toMatchObject({ operationId: id, summary });
      for (const other of others) expect(other.operationId).toMatch(new RegExp(`^${id}By`));
    }
    const ids = Object.values<Json>(document.paths).flatMap((item) =>
      Object.values<Json>(item).map((operation) => operation.operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("is valid OpenAPI 3.1", async () => {
    const document = (await joust.client.get("/openapi.json")).json;
    const validator = new Validator();
    expect(await validator.validate(document)).toEqual({ valid: true });
    expect(validator.version).toBe("3.1");
    // Every reference resolves.
    const names = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)];
    for (const [, name] of names)
      expect(document.components.schemas).toHaveProperty(name as string);
    expect(JSON.stringify(document)).not.toMatch(/"\$id"|patternProperties/);
  });

  it("names every parameter of every path", async () => {
    const { paths } = (await joust.client.get("/openapi.json")).json;
    for (const [path, item] of Object.entries<Json>(paths)) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      for (const operation of Object.values<Json>(item)) {
        const inPath = operation.parameters.filter((parameter: Json) => parameter.in === "path");
        expect(inPath.map((parameter: Json) => parameter.name)).toEqual(named);
      }
    }
  });

  it("requires a key", async () => {
    const reply = await joust.client.withKey("").get("/openapi.json");
    expect(reply.status).toBe(401);
  });
});
