import { Type } from "@sinclair/typebox";
import { expect, it } from "vitest";
import { accessTo } from "../../src/api/access.js";
import { operation } from "../../src/api/operation.js";
import { BodyLimiter } from "../../src/http/body-limiter.js";
import { waitFor } from "../harness/wait-for.js";
import { setupSmallServer } from "./small-server.js";

const waiting: (() => void)[] = [];

const hold = operation({
  id: "Hold",
  methods: ["POST"],
  path: "/v1/hold",
  summary: "Answer when the test says so",
  tag: "Test",
  params: Type.Object({}),
  body: { kind: "json", schema: Type.Object({ text: Type.String() }) },
  access: accessTo("server", "select"),
  uses: [],
  async handle(_services, { payload }) {
    await new Promise<void>((resolve) => waiting.push(resolve));
    return { kind: "json", value: payload.text.length };
  },
});

const small = setupSmallServer({ operations: [hold], bodyLimiter: new BodyLimiter(64 * 1024) });

const send = (length: number, signal?: AbortSignal) =>
  small.client.request("/v1/hold", {
    body: { text: "x".repeat(length) },
    ...(signal && { signal }),
  });
const finishHandlers = async () => {
  await waitFor("a request is handled", () => waiting.length > 0);
  for (const go of waiting.splice(0)) go();
};

it("a body that does not fit beside the bodies in progress gets 429", async () => {
  const first = send(50_000);
  await waitFor("the first is handled", () => waiting.length === 1);
  const second = await send(50_000);
  expect(second.status).toBe(429);
  expect(second.headers.get("retry-after")).toBe("1");
  expect(second.json).toMatchObject({ code: 21 });
  const short = send(1_000);
  await waitFor("a short one is handled", () => waiting.length === 2);
  await finishHandlers();
  expect([(await first).json, (await short).json]).toEqual([50_000, 1_000]);
});

it("memory for a body is released after a response, a failure and a disconnect", async () => {
  expect((await small.client.post("/v1/hold", { other: "x".repeat(60_000) })).status).toBe(400);
  const leaving = new AbortController();
  const left = expect(send(60_000, leaving.signal)).rejects.toThrow(/abort/i);
  await waitFor("it is handled", () => waiting.length === 1);
  leaving.abort();
  await left;
  await finishHandlers();
  const answered = send(60_000);
  await finishHandlers();
  expect((await answered).json).toBe(60_000);
});
