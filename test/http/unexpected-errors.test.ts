import { afterEach, describe, expect, it } from "vitest";
import type { Operation, Reply, Translation } from "../../src/api/operation.js";
import type { Logger } from "../../src/telemetry/logger.js";
import { expectFailure } from "../harness/expect-failure.js";
import { plain, setupSmallServer } from "./small-server.js";

/** Logged failures. */
const logged: string[] = [];
const log = {
  isLevelEnabled: () => false,
  warn: ({ err }: { err: Error }) => void logged.push(err.message),
  error: ({ err }: { err: Error }) => void logged.push(err.message),
} as unknown as Logger;

const broken = (): never => {
  throw new Error("broken");
};
const ok: Reply = { kind: "json", value: {} };
const circular: Record<string, unknown> = {};
circular.self = circular;

/** Handlers that throw unexpected errors, by name. */
const handlers: Record<string, () => Reply | Promise<Reply>> = {
  throws: broken,
  rejects: async () => broken(),
  rejects_with_nothing: () => Promise.reject(undefined),
  bigint: () => ({ kind: "json", value: { a: 1n } }),
  bigint_later: async () => ({ kind: "json", value: { a: 1n } }),
  circular: () => ({ kind: "json", value: circular }),
  header: () => ({ ...ok, headers: { a: 7 as unknown as string } }),
  header_later: async () => ({ ...ok, headers: { a: undefined as unknown as string } }),
  no_reply: () => undefined as unknown as Reply,
};
const fine = plain({ id: "Fine", path: "/v1/fine" }, () => ok);
const operations: Operation[] = [
  fine,
  ...Object.entries(handlers).map(([name, handle]) =>
    plain({ id: name, path: `/v1/${name}` }, handle),
  ),
];
const translations: Translation[] = [
  { operation: "Fine", path: "/v1/reply/", reply: broken },
  { operation: "Fine", path: "/v1/body/", body: broken },
  { operation: "throws", path: "/v1/failure/", failure: broken },
  { operation: "rejects", path: "/v1/failure_later/", failure: broken },
];

const small = setupSmallServer({
  operations,
  translations,
  log,
  page: (path) => (path === "/page" ? broken() : undefined),
});

afterEach(() => {
  logged.length = 0;
});

describe("an unexpected error", () => {
  const paths = [...Object.keys(handlers), "reply/", "body/", "failure/", "failure_later/"];

  it.each(paths)("returns 500 and is logged: %s", async (path) => {
    for (const body of [undefined, {}, JSON.stringify({ a: "x".repeat(40_000) })]) {
      const reply = await small.client.request(`/v1/${path}`, {
        ...(body !== undefined && { body }),
        signal: AbortSignal.timeout(5_000),
      });
      expectFailure(reply, 500, 18);
    }
    expect(logged).toHaveLength(3);
    expect((await small.client.post("/v1/fine")).status).toBe(200);
    expect(small.server.inFlight.size).toBe(0);
  });

  it("in a page returns 500 and is logged", async () => {
    const signal = AbortSignal.timeout(5_000);
    expectFailure(await small.client.request("/page", { method: "GET", signal }), 500, 18);
    expect(logged).toEqual(["broken"]);
    expect((await small.client.post("/v1/fine")).status).toBe(200);
  });
});
