import { expect, it } from "vitest";
import type { FlightEvent, FlightReply, FlightReport } from "../../src/engine/index.js";
import { FlightCall } from "../../src/flight/flight-call.js";
import type { FlightDependencies } from "../../src/flight/flight-calls.js";

it("a call that ends while its database is looked up leaves no query counted", async () => {
  const lookups: ((isDatabase: boolean) => void)[] = [];
  const next = () => new Promise((resolve) => setImmediate(resolve));
  let counted = 0;
  const dependencies = {
    services: {
      config: { requestTimeoutMs: 0, lancedbDatabases: "existing" },
      catalog: {
        isDatabaseSync: () => undefined,
        isDatabase: () => new Promise((resolve) => lookups.push(resolve)),
      },
      grants: {},
    },
    authenticator: { identify: async () => ({ id: "reader", name: "reader", role: "read" }) },
    limiter: {
      admit: () => {},
      query: () => {
        counted++;
        return { end: () => counted--, during: (work: Promise<void>) => work };
      },
    },
  } as unknown as FlightDependencies;
  const reply = {
    identified: () => {},
    fail: () => {},
  } as unknown as FlightReply;
  const headers = { authorization: "Bearer key", "x-lancedb-database": "unknown" };
  const event = { call: 1, kind: "identify", headers } as unknown as FlightEvent;

  const call = new FlightCall(dependencies, event);
  call.identify(reply);
  await next();
  lookups.pop()?.(false);
  await next();
  call.answer("execute", { call: 1, kind: "execute" } as FlightEvent, reply);
  await next();
  expect(lookups).toHaveLength(1);
  call.abort();
  call.end({ operation: "DoGet", status: "Cancelled" } as FlightReport);
  lookups.pop()?.(false);
  await next();
  await next();
  expect(counted).toBe(0);
});
