import { Writable } from "node:stream";
import { jwtVerify } from "jose";
import { pino } from "pino";
import { afterEach, beforeEach, expect, it, onTestFinished } from "vitest";
import { ProviderKeys, type ProviderKeysOptions } from "../../src/auth/oidc/provider-keys.js";
import { authCounts, shareAuthCounts } from "../../src/telemetry/auth-counts.js";
import { createLogger } from "../../src/telemetry/logger.js";
import { IdentityProvider } from "../harness/identity-provider.js";
import { waitFor } from "../harness/wait-for.js";

let provider: IdentityProvider;
let changes: number;

beforeEach(async () => {
  provider = await IdentityProvider.start();
  changes = 0;
});
afterEach(() => provider.stop());

function open(options: Partial<ProviderKeysOptions>): ProviderKeys {
  const { issuer } = provider;
  // With the address of the key set each fetch is one request, also during an outage.
  const keys = new ProviderKeys(
    { issuer, jwksUrl: `${issuer}/keys` },
    { log: createLogger("silent"), onChange: () => void changes++, ...options },
  );
  onTestFinished(() => keys.stop());
  return keys;
}

const fetchedAgain = async (times: number): Promise<void> => {
  const { fetches } = provider;
  await waitFor("the keys are fetched again", async () => provider.fetches >= fetches + times);
};

it("keeps the keys while fetches fail", async () => {
  const keys = open({ refreshMs: 10 });
  const token = await provider.sign({});
  await jwtVerify(token, keys.find);
  provider.isDown = true;
  await fetchedAgain(3);
  expect((await jwtVerify(token, keys.find)).payload.sub).toBe("u1");
  expect(changes).toBe(0);
});

it("counts failed fetches, and logs the age of the keys in use and the end of an outage", async () => {
  shareAuthCounts(1);
  const lines: { msg: string; keys_age_seconds?: number }[] = [];
  const sink = new Writable({
    write(line, _, done) {
      lines.push(JSON.parse(String(line)));
      done();
    },
  });
  const keys = open({ refreshMs: 10, log: pino({}, sink) });
  await jwtVerify(await provider.sign({}), keys.find);
  const before = authCounts().provider;
  expect(before).toMatchObject({ failedFetches: 0, isFailing: false });
  expect(before.fetchedAtMillis).toBeGreaterThan(0);
  provider.isDown = true;
  await waitFor("a failure", () => authCounts().provider.isFailing);
  expect(authCounts().provider.failedFetches).toBeGreaterThan(0);
  expect(authCounts().provider.fetchedAtMillis).toBeGreaterThan(0);
  provider.isDown = false;
  await waitFor("the end of the outage", () => !authCounts().provider.isFailing);
  expect(lines[0]).toMatchObject({ keys_age_seconds: expect.any(Number) });
  expect(lines[0]?.msg).toContain("the former ones stay in use");
  expect(lines.at(-1)?.msg).toContain("publishes its keys again");
});

it("reports other keys once, and no longer finds the former ones", async () => {
  const keys = open({ refreshMs: 10, leastIntervalMs: 0 });
  const former = await provider.sign({});
  await jwtVerify(former, keys.find);
  await provider.rotate("ES256");
  await fetchedAgain(3);
  expect(changes).toBe(1);
  await jwtVerify(await provider.sign({}), keys.find);
  await expect(jwtVerify(former, keys.find)).rejects.toMatchObject({
    code: "ERR_JWKS_NO_MATCHING_KEY",
  });
});

it("throws code 17 before the first fetch succeeds", async () => {
  provider.isDown = true;
  const keys = open({ leastIntervalMs: 0 });
  const token = await provider.sign({});
  await expect(jwtVerify(token, keys.find)).rejects.toMatchObject({ code: 17 });
  provider.isDown = false;
  await jwtVerify(token, keys.find);
});
