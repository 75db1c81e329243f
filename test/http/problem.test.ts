import { describe, expect, it } from "vitest";
import { asJoustError, ErrorCode, JoustError } from "../../src/foundation/errors.js";
import { problem } from "../../src/http/problem.js";

describe("an error response", () => {
  it("has the documented body", () => {
    const error = new JoustError(ErrorCode.TableNotFound, "no table `t`");
    expect(problem(error, "/v1/table/t/describe")).toEqual({
      type: "urn:joust:error:table-not-found",
      title: "table not found",
      status: 404,
      detail: "no table `t`",
      instance: "/v1/table/t/describe",
      error: "no table `t`",
      code: 4,
    });
  });

  it("has a status for each error code", () => {
    const statuses = Object.fromEntries(
      Object.values(ErrorCode).map((code) => [code, problem(new JoustError(code, ""), "").status]),
    );
    expect(statuses).toEqual({
      0: 406,
      1: 404,
      2: 409,
      3: 409,
      4: 404,
      5: 409,
      6: 404,
      7: 409,
      8: 404,
      9: 409,
      10: 404,
      11: 404,
      12: 404,
      13: 400,
      14: 409,
      15: 403,
      16: 401,
      17: 503,
      18: 500,
      19: 409,
      20: 400,
      21: 429,
      22: 404,
      23: 409,
    });
  });

  it("has the code and the message of an engine error", () => {
    const thrown = Object.assign(new Error("no column `x`"), { name: "EngineError", code: 12 });
    expect(asJoustError(thrown)).toMatchObject({ code: 12, message: "no column `x`" });
  });

  it("hides the message of an unexpected error", () => {
    const engine = Object.assign(new Error("panicked at /src/x.rs"), {
      name: "EngineError",
      code: 18,
    });
    for (const thrown of [engine, new TypeError("x is not a function"), "text", undefined]) {
      const error = asJoustError(thrown);
      expect(error.code).toBe(18);
      expect(error.message).toMatch(/^the server failed/);
      expect(error.cause).toBe(thrown);
    }
  });
});
