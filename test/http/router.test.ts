import { describe, expect, it } from "vitest";
import type { Route } from "../../src/http/route.js";
import { Router } from "../../src/http/router.js";

const route = (path: string, ...methods: ("GET" | "POST")[]): Route =>
  ({ path, methods, operation: { id: `${methods} ${path}` } }) as unknown as Route;

const router = new Router([
  route("/v1/table", "GET"),
  route("/v1/table/", "GET"),
  route("/v1/table/{id}/describe", "POST"),
  route("/v1/table/{id}/describe/", "POST"),
  route("/v1/table/{id}/count_rows", "GET", "POST"),
  route("/v1/table/{id}/index/list", "POST"),
  route("/v1/table/{id}/index/{index_name}/stats", "POST"),
  route("/v1/table/version/batch-create", "POST"),
  route("/v1/namespace/{id}/table/list", "GET"),
]);

const findRoute = (path: string, method = "POST") => {
  const match = router.match(path);
  return match && { path: match.routes.get(method)?.path, segments: match.segments };
};

describe("the router", () => {
  it("finds the route of a path and returns the encoded segments", () => {
    expect(findRoute("/v1/table/a%24b/describe")).toEqual({
      path: "/v1/table/{id}/describe",
      segments: { id: "a%24b" },
    });
    expect(findRoute("/v1/table/t/index/my%20idx/stats")?.segments).toEqual({
      id: "t",
      index_name: "my%20idx",
    });
    expect(findRoute("/v1/table/t/count_rows", "GET")?.path).toBe("/v1/table/{id}/count_rows");
  });

  it("distinguishes a path with a trailing slash", () => {
    expect(findRoute("/v1/table/t/describe/")?.path).toBe("/v1/table/{id}/describe/");
    expect(findRoute("/v1/table/", "GET")?.path).toBe("/v1/table/");
    expect(findRoute("/v1/table", "GET")?.path).toBe("/v1/table");
    expect(findRoute("/v1/table/t/index/list/")).toBeUndefined();
  });

  it("matches names that equal literal segments of other paths", () => {
    expect(findRoute("/v1/table/version/describe")).toEqual({
      path: "/v1/table/{id}/describe",
      segments: { id: "version" },
    });
    expect(findRoute("/v1/table/version/batch-create")?.segments).toEqual({});
    expect(findRoute("/v1/table/t/index/list/stats")?.segments).toEqual({
      id: "t",
      index_name: "list",
    });
    expect(findRoute("/v1/namespace/table/table/list", "GET")?.segments).toEqual({ id: "table" });
  });

  it("finds no route if a segment is missing, empty or additional", () => {
    for (const path of [
      "/",
      "/v1",
      "/v1/table//describe",
      "/v1/table/t",
      "/v1/table/t/describe/x",
    ]) {
      expect(findRoute(path), path).toBeUndefined();
    }
  });

  it("suggests similar routes", () => {
    expect(router.similar("/v1/table/t/describ")[0]).toContain("/v1/table");
    expect(router.similar("/v1/table/t/indexes/list")).toContain("POST /v1/table/{id}/index/list");
    expect(router.similar("/favicon.ico")).toEqual([]);
  });
});

describe("a second route", () => {
  it("for the same method and path is an error", () => {
    const twice = [route("/v1/a/{id}", "GET", "POST"), route("/v1/a/{id}", "POST")];
    expect(() => new Router(twice)).toThrow("POST /v1/a/{id} is both");
  });
});
