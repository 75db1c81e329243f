/** Only AWS has a real STS, so a stub stands for it. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { RemoteWork } from "../../../src/engine/index.js";
import {
  WorkerStores,
  type WorkerStoresDependencies,
} from "../../../src/jobs/ray/worker-stores.js";
import { createLogger } from "../../../src/telemetry/logger.js";
import { type StubSts, startStubSts } from "../../harness/stub-sts.js";

const VIEW = "s3://bucket/root/v.lance";
const SOURCE = {
  location: "s3://bucket/root/t.lance",
  storageOptions: { aws_region: "eu-west-2" },
};
const OPTIONS = {
  aws_region: "eu-west-1",
  aws_access_key_id: "long-lived",
  secret_access_key: "s",
};

let sts: StubSts;

beforeEach(async () => {
  sts = await startStubSts({ id: "temporary", secret: "its secret", token: "its token" });
});
afterEach(() => sts.close());

function stores(settings: WorkerStoresDependencies["settings"], source?: typeof SOURCE) {
  const log = createLogger("silent");
  const catalog = { cloneSource: async () => undefined };
  const job = { id: "j", work: new RemoteWork(0), location: VIEW, storageOptions: OPTIONS };
  return new WorkerStores(
    { settings, catalog, log },
    { ...job, ...(source && { sources: [source] }) },
  );
}

it("gives the options of each table as they are", async () => {
  const own = stores({}, SOURCE);
  expect(own.areTemporary).toBe(false);
  expect(await own.options(VIEW)).toEqual({
    storage_options: OPTIONS,
    source_options: [SOURCE.storageOptions],
  });
});

it("gives those of the operator in their place", async () => {
  const storageOptions = { aws_access_key_id: "workers" };
  expect(await stores({ storageOptions }, SOURCE).options(VIEW)).toEqual({
    storage_options: storageOptions,
    source_options: [storageOptions],
  });
});

it("has no options of a source if the workers read the table of the job", async () => {
  expect(await stores({}).options(VIEW)).toEqual({ storage_options: OPTIONS });
});

it("adds the same temporary credentials to both", async () => {
  const vending = { role: "arn:aws:iam::1:role/workers", endpoint: sts.url, lifetimeMs: 3_600_000 };
  const temporary = stores({ vending }, SOURCE);
  expect(temporary.areTemporary).toBe(true);
  const credentials = { aws_access_key_id: "temporary", aws_session_token: "its token" };
  expect(await temporary.options(VIEW)).toMatchObject({
    storage_options: { aws_region: "eu-west-1", ...credentials },
    source_options: [{ aws_region: "eu-west-2", ...credentials }],
  });
  expect(sts.assumed).toHaveLength(1);
});
