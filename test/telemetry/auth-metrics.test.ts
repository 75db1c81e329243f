/** Metrics of the caches of authentication and authorization, and of the identity provider. */
import { expect, it, onTestFinished } from "vitest";
import { items } from "../harness/arrow.js";
import { createKey } from "../harness/cli.js";
import type { Client } from "../harness/client.js";
import { IdentityProvider } from "../harness/identity-provider.js";
import { startServerForTest } from "../harness/setup-server.js";

const metric = async (client: Client, series: string): Promise<number | undefined> => {
  const { text } = await client.get("/metrics");
  const line = text.split("\n").find((one) => one.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
};

const lookups = async (client: Client, cache: string) => ({
  hits: (await metric(client, series(cache, "hit"))) ?? 0,
  misses: (await metric(client, series(cache, "miss"))) ?? 0,
});
const series = (cache: string, result: string) =>
  `joust_auth_cache_lookups_total{cache="${cache}",result="${result}"}`;

it.each([1, 2])("the caches count hits and misses of all %d threads", async (threads) => {
  const provider = await IdentityProvider.start();
  onTestFinished(() => provider.stop());
  const oidc = ["--oidc-issuer", provider.issuer, "--oidc-audience", "joust"];
  const args = [...oidc, "--oidc-roles", "ops=admin", "--http-threads", `${threads}`];
  const { client, root } = await startServerForTest({ args });
  await client.createTable("t", items(3));
  const limited = client.withKey((await createKey(root, "none")).key);
  const token = await provider.sign({ groups: ["others"], sub: "somebody" });
  const user = client.withKey(token);
  const before = await Promise.all(
    ["keys", "tokens", "grants", "privileges"].map((cache) => lookups(client, cache)),
  );
  const asked = 20;
  for (let request = 0; request < asked; request++) {
    expect((await user.post("/v1/table/t/exists")).status).toBe(404);
    expect((await limited.post("/v1/table/t/exists")).status).toBe(404);
  }
  const after = await Promise.all(
    ["keys", "tokens", "grants", "privileges"].map((cache) => lookups(client, cache)),
  );
  const [keys, tokens, grants, privileges] = after.map((one, at) => ({
    hits: one.hits - (before[at]?.hits ?? 0),
    misses: one.misses - (before[at]?.misses ?? 0),
  }));
  expect(keys?.hits).toBeGreaterThanOrEqual(asked - threads);
  // Each thread verifies the token once.
  expect(tokens?.misses).toBeGreaterThanOrEqual(1);
  expect(tokens?.misses).toBeLessThanOrEqual(threads);
  expect((tokens?.hits ?? 0) + (tokens?.misses ?? 0)).toBeGreaterThanOrEqual(asked);
  expect((grants?.hits ?? 0) + (grants?.misses ?? 0)).toBeGreaterThanOrEqual(asked);
  expect((privileges?.hits ?? 0) + (privileges?.misses ?? 0)).toBe(2 * asked);
  expect(await metric(client, `joust_identity_provider_fetches_total{result="ok"}`)).toBe(threads);
  expect(await metric(client, "joust_identity_provider_unreachable")).toBe(0);
  const since = (await metric(client, "joust_identity_provider_keys_timestamp_seconds")) ?? 0;
  expect(Date.now() / 1_000 - since).toBeLessThan(120);
});

it("an identity provider that does not answer is a metric", async () => {
  const provider = await IdentityProvider.start();
  onTestFinished(() => provider.stop());
  provider.isDown = true;
  const args = ["--oidc-issuer", provider.issuer, "--oidc-audience", "joust"];
  const { client } = await startServerForTest({ args });
  const token = await provider.sign({});
  expect((await client.withKey(token).post("/v1/table/t/exists")).status).toBe(503);
  expect(await metric(client, "joust_identity_provider_unreachable")).toBe(1);
  expect(await metric(client, "joust_identity_provider_keys_timestamp_seconds")).toBeUndefined();
  const failed = await metric(client, `joust_identity_provider_fetches_total{result="failed"}`);
  expect(failed).toBeGreaterThan(0);
});

it("a server without an identity provider has no metrics of one", async () => {
  const { client } = await startServerForTest({});
  const { text } = await client.get("/metrics");
  expect(text).toContain("joust_auth_cache_lookups_total");
  expect(text).not.toContain("joust_identity_provider");
});
