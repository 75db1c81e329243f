/** Only AWS has a real STS, so a stub stands for it. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { CloneSource } from "../../../src/catalog/catalog.js";
import type { RemoteJob } from "../../../src/jobs/executor.js";
import { WorkerCredentials } from "../../../src/jobs/ray/worker-credentials.js";
import { createLogger } from "../../../src/telemetry/logger.js";
import { type StubSts, startStubSts } from "../../harness/stub-sts.js";

const ROLE = "arn:aws:iam::123456789012:role/workers";
const TABLE = "s3://bucket/root/t.lance";
const BRANCH = `${TABLE}/tree/dev`;
const OPTIONS = {
  aws_region: "eu-west-1",
  AWS_ACCESS_KEY_ID: "long-lived",
  secret_access_key: "secret",
};
const MINUTE = 60_000;

let sts: StubSts;
let sources: Record<string, CloneSource>;

beforeEach(async () => {
  sts = await startStubSts({ id: "temporary", secret: "its secret", token: "its token" });
  sources = {};
});
afterEach(() => {
  vi.useRealTimers();
  sts.close();
});

/** Advances the clock of the server. */
function pass(ms: number): void {
  const now = Date.now() + ms;
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(now);
}

const credentials = (lifetimeMs = 60 * MINUTE, read?: RemoteJob["sources"]) =>
  new WorkerCredentials(
    {
      vending: { role: ROLE, endpoint: sts.url, lifetimeMs },
      catalog: { cloneSource: async (location) => sources[location] },
      log: createLogger("silent"),
    },
    { id: "j", location: TABLE, storageOptions: OPTIONS, ...(read && { sources: read }) },
  );

interface Statement {
  Action: string | string[];
  Resource: string | string[];
}
const statements = (request = 0) => sts.assumed[request]?.policy.Statement as Statement[];
const resourcesOf = (action: string, request = 0) =>
  statements(request)
    .filter((one) => one.Action.includes(action))
    .flatMap((one) => one.Resource);

it("asks STS as the server, whatever credentials the operator has for workers", async () => {
  await credentials().addTo({ aws_access_key_id: "workers", skip_signature: "true" }, TABLE);
  expect(sts.assumed).toMatchObject([{ signer: "long-lived" }]);
});

it("replaces the credentials of the server and leaves its other options", async () => {
  expect(await credentials().addTo(OPTIONS, TABLE)).toEqual({
    aws_region: "eu-west-1",
    aws_access_key_id: "temporary",
    aws_secret_access_key: "its secret",
    aws_session_token: "its token",
  });
  expect(sts.assumed).toMatchObject([{ role: ROLE, seconds: 3_600, signer: "long-lived" }]);
});

it("permits to read the table, and to create files of data and indexes where the order says", async () => {
  await credentials().addTo(OPTIONS, BRANCH);
  expect(resourcesOf("s3:GetObject")).toEqual(["arn:aws:s3:::bucket/root/t.lance/*"]);
  expect(resourcesOf("s3:PutObject")).toEqual([
    "arn:aws:s3:::bucket/root/t.lance/tree/dev/data/*",
    "arn:aws:s3:::bucket/root/t.lance/tree/dev/_indices/*",
  ]);
  expect(JSON.stringify(sts.assumed[0]?.policy)).not.toMatch(/Delete|s3:\*/);
});

it("permits to read the tables whose files a clone reads", async () => {
  sources[TABLE] = { location: "s3://bucket/root/source.lance", tag: "t" };
  sources["s3://bucket/root/source.lance"] = { location: "s3://bucket/root/first.lance", tag: "t" };
  await credentials().addTo(OPTIONS, TABLE);
  expect(resourcesOf("s3:GetObject")).toEqual(
    ["t", "source", "first"].map((name) => `arn:aws:s3:::bucket/root/${name}.lance/*`),
  );
  expect(resourcesOf("s3:PutObject").join()).not.toMatch(/source|first/);
});

it("permits to read the source of a view, and not to write it", async () => {
  const source = { location: "s3://bucket/root/source.lance", storageOptions: {} };
  sources[source.location] = { location: "s3://bucket/root/first.lance", tag: "t" };
  await credentials(MINUTE, [source]).addTo(OPTIONS, TABLE);
  expect(resourcesOf("s3:GetObject")).toEqual(
    ["t", "source", "first"].map((name) => `arn:aws:s3:::bucket/root/${name}.lance/*`),
  );
  expect(resourcesOf("s3:PutObject").join()).not.toMatch(/source|first/);
});

it("gives the same credentials until half of their lifetime is over, then new ones", async () => {
  const lasting = credentials();
  await lasting.addTo(OPTIONS, TABLE);
  await lasting.addTo(OPTIONS, TABLE);
  expect(sts.assumed).toHaveLength(1);
  // Another order writes elsewhere.
  await lasting.addTo(OPTIONS, BRANCH);
  expect(sts.assumed).toHaveLength(2);
  pass(31 * MINUTE);
  await lasting.addTo(OPTIONS, BRANCH);
  expect(sts.assumed).toHaveLength(3);
});

it("asks STS once for many tasks that begin at the same time", async () => {
  const shared = credentials();
  await Promise.all(Array.from({ length: 8 }, () => shared.addTo(OPTIONS, TABLE)));
  expect(sts.assumed).toHaveLength(1);
});

it("reuses credentials that are still valid if STS gives no new ones", async () => {
  const lasting = credentials();
  const before = await lasting.addTo(OPTIONS, TABLE);
  sts.refuse();
  pass(31 * MINUTE);
  expect(await lasting.addTo(OPTIONS, TABLE)).toEqual(before);
  await expect(lasting.addTo(OPTIONS, BRANCH)).rejects.toThrow(/STS gave no credentials/);
  const attempts = sts.refused;
  await expect(lasting.addTo(OPTIONS, BRANCH)).rejects.toThrow(/STS gave no credentials/);
  expect(sts.refused).toBe(attempts);
  pass(30 * MINUTE);
  await expect(lasting.addTo(OPTIONS, TABLE)).rejects.toThrow(/STS gave no credentials/);
});

it("refuses a table that no policy can name", async () => {
  await expect(credentials().addTo(OPTIONS, "/data/t.lance")).rejects.toThrow(
    /only for tables in a bucket/,
  );
});
