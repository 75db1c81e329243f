import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Engine } from "../../../src/engine/index.js";
import { items } from "../../harness/arrow.js";
import { runCli } from "../../harness/cli.js";
import type { Client } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { type S3, s3Missing, startS3 } from "../../harness/s3.js";
import { type Server, startServer } from "../../harness/server.js";
import { type StubSts, startStubSts } from "../../harness/stub-sts.js";
import { removeDir, tempDir } from "../../harness/temp.js";
import { waitFor } from "../../harness/wait-for.js";
import { waitForOutput } from "../../harness/wait-for-output.js";

const ROLE = "arn:aws:iam::123456789012:role/readers";

describe.skipIf(s3Missing)("vend_credentials", () => {
  let dir: string;
  let s3: S3;
  let sts: StubSts;
  let server: Server;
  let root: string;

  beforeAll(async () => {
    dir = tempDir("vended");
    s3 = await startS3();
    const { AWS_ACCESS_KEY_ID: id = "", AWS_SECRET_ACCESS_KEY: secret = "" } = s3.env;
    sts = await startStubSts({ id, secret, token: "session token" });
    root = `${s3.createBucket()}/tables`;
    server = await startServer({
      root,
      env: s3.env,
      args: [
        ...["--catalog", `${dir}/catalog.db`, "--audit-log", `${dir}/audit.log`],
        ...["--vend-role", ROLE, "--vend-endpoint", sts.url],
        ...["--vend-lifetime", "20m", "--storage-option", `aws_endpoint=${s3.endpoint}`],
        ...["--storage-option", "aws_region=us-east-1", "--storage-option", "aws_allow_http=true"],
      ],
      timeoutMs: 60_000,
    });
    await server.client.createNamespace("ns");
    await server.client.createTable("ns$t", items(40));
  });
  afterAll(async () => {
    await server.stop();
    sts.close();
    await s3.stop();
    removeDir(dir);
  });

  const vended = async (client: Client, body: object = {}) => {
    const answer = await client.ok("/v1/table/ns$t/describe", { vend_credentials: true, ...body });
    return answer.storage_options;
  };

  /** A caller with the privileges that these statements grant to `SUBJECT`. */
  async function caller(...grants: string[]): Promise<Client> {
    const create = ["key", "create", "--name", "k", "--role", "none"];
    const { out } = await runCli([...create, "--catalog", `${dir}/catalog.db`, root], s3.env);
    const [, key = "", id] = /: (joust_\S+)\nid: (\S+)/.exec(out) ?? [];
    for (const grant of grants) {
      const query = grant.replace("SUBJECT", `'key:${id}'`);
      await server.client.request("/v1/sql", { body: JSON.stringify({ query }) });
    }
    return server.client.withKey(key);
  }

  it("gives temporary credentials that read the files of the table", async () => {
    const before = sts.assumed.length;
    const answer = await server.client.post("/v1/table/ns$t/describe", { vend_credentials: true });
    const { location, storage_options: options } = answer.json;
    expect(options).toMatchObject({
      aws_endpoint: s3.endpoint,
      aws_region: "us-east-1",
      aws_allow_http: "true",
      aws_access_key_id: "joust",
      aws_session_token: "session token",
    });
    const left = Number(options.expires_at_millis) - Date.now();
    expect(left).toBeGreaterThan(18 * 60_000);
    expect(left).toBeLessThanOrEqual(20 * 60_000);
    expect(sts.assumed.length).toBe(before + 1);
    // The test's store has no STS and refuses tokens of one: without its token the rest opens the table.
    const { aws_session_token: _, ...withoutToken } = options;
    const reader = new Engine().table(location, withoutToken);
    expect(await reader.countRows({})).toBe(40);
  });

  it("asks STS for the table only, under a name that the audit log has", async () => {
    const headers = { "x-request-id": "my:request" };
    await server.client.request("/v1/table/ns$t/describe", {
      body: JSON.stringify({ vend_credentials: true }),
      headers: { ...headers, "content-type": "application/json" },
    });
    const { location } = await server.client.ok("/v1/table/ns$t/describe");
    const assumed = sts.assumed.at(-1);
    expect(assumed).toMatchObject({ role: ROLE, seconds: 1_200, signer: "joust" });
    expect(assumed?.session).toMatch(/^joust-[0-9a-f-]{36}$/);
    const line = await waitFor("the line in the audit log", () =>
      readFileSync(`${dir}/audit.log`, "utf8")
        .split("\n")
        .find((text) => text.includes(`"request_id":"my:request"`)),
    );
    expect(JSON.parse(line)).toMatchObject({
      operation: "DescribeTable",
      object: "ns$t",
      credentials: assumed?.session,
    });
    const path = location.replace("s3://", "");
    const prefix = path.slice(path.indexOf("/") + 1);
    const bucket = path.slice(0, path.indexOf("/"));
    expect(assumed?.policy.Statement).toEqual([
      {
        Effect: "Allow",
        Action: ["s3:GetObject", "s3:GetObjectVersion"],
        Resource: [`arn:aws:s3:::${path}/*`],
      },
      {
        Effect: "Allow",
        Action: "s3:ListBucket",
        Resource: `arn:aws:s3:::${bucket}`,
        Condition: { StringLike: { "s3:prefix": [`${prefix}/*`] } },
      },
      { Effect: "Allow", Action: "s3:GetBucketLocation", Resource: `arn:aws:s3:::${bucket}` },
      {
        Effect: "Allow",
        Action: "kms:Decrypt",
        Resource: "*",
        Condition: {
          StringLike: {
            "kms:EncryptionContext:aws:s3:arn": [
              `arn:aws:s3:::${path}/*`,
              `arn:aws:s3:::${bucket}`,
            ],
          },
        },
      },
    ]);
  });

  it("gives credentials for old versions, and none for a declared table", async () => {
    expect(await vended(server.client, { version: 1 })).toHaveProperty("aws_session_token");
    expect(await vended(server.client, { vend_credentials: false })).not.toHaveProperty(
      "aws_session_token",
    );
    await server.client.ok("/v1/table/ns$d/declare", {});
    const declared = await server.client.ok("/v1/table/ns$d/describe", { vend_credentials: true });
    expect(declared.storage_options).not.toHaveProperty("aws_session_token");
  });

  it("gives none to a caller that may not read all rows", async () => {
    const asked = sts.assumed.length;
    const callers: [string, string[]][] = [
      ["insert only", ["GRANT INSERT ON ns.t TO SUBJECT"]],
      ["a row filter", ["GRANT SELECT ON ns.t TO SUBJECT WHERE id < 3"]],
    ];
    for (const [what, grants] of callers) {
      const options = await vended(await caller(...grants));
      expect([what, options.aws_access_key_id]).toEqual([what, undefined]);
    }
    expect(sts.assumed.length).toBe(asked);
    const reader = await caller("GRANT SELECT ON SCHEMA ns TO SUBJECT");
    expect(await vended(reader)).toHaveProperty("aws_access_key_id", "joust");
    const stranger = await (await caller()).post("/v1/table/ns$t/describe", {
      vend_credentials: true,
    });
    expectFailure(stranger, 404, 1, /does not exist/);
  });

  it("gives those for a clone to callers that may read all rows of its sources", async () => {
    const { client } = server;
    await client.createNamespace("other");
    const locationOf = async (id: string): Promise<string> =>
      (await client.ok(`/v1/table/${id}/describe`)).location;
    const locations = [await locationOf("ns$t")];
    for (const id of ["other$c", "other$d"]) {
      await client.ok(`/v1/table/${id}/clone`, { source_location: locations[0] });
      locations.unshift(await locationOf(id));
    }
    const describe = async (as: Client) =>
      (await as.ok("/v1/table/other$d/describe", { vend_credentials: true })).storage_options;
    const options = await describe(client);
    const objects = locations.map((location) => `arn:aws:s3:::${location.slice(5)}/*`);
    expect(sts.assumed.at(-1)?.policy).toMatchObject({
      Statement: [{ Resource: objects }, {}, {}, {}],
    });
    const { aws_session_token: _, ...withoutToken } = options;
    const reader = new Engine().table(locations[0] ?? "", withoutToken);
    expect(await reader.countRows({ predicate: "id >= 0" })).toBe(40);

    const asked = sts.assumed.length;
    const only = await caller("GRANT SELECT ON SCHEMA other TO SUBJECT");
    expect(await only.count("other$d", { predicate: "id >= 0" })).toBe(40);
    expect(await describe(only)).not.toHaveProperty("aws_session_token");
    const filtered = await caller(
      "GRANT SELECT ON SCHEMA other TO SUBJECT",
      "GRANT SELECT ON ns.t TO SUBJECT WHERE id < 3",
    );
    expect(await describe(filtered)).not.toHaveProperty("aws_session_token");
    expect(sts.assumed.length).toBe(asked);
    const both = await caller(
      "GRANT SELECT ON SCHEMA other TO SUBJECT",
      "GRANT SELECT ON ns.t TO SUBJECT",
    );
    expect(await describe(both)).toHaveProperty("aws_session_token");
    const copy = { source_location: locations[0], is_shallow: false };
    const refused = await client.post("/v1/table/other$copy/clone", copy);
    expectFailure(refused, 406, 0, /make a shallow clone of it/);

    await client.ok("/v1/table/other$c/drop");
    expect(await describe(client)).not.toHaveProperty("aws_session_token");
    expect(await client.count("other$d", { predicate: "id >= 0" })).toBe(40);
  });

  it("fails if STS refuses, and the log says why", async () => {
    sts.refuse();
    const answer = await server.client.post("/v1/table/ns$t/describe", { vend_credentials: true });
    expectFailure(answer, 503, 17, /STS gave no credentials/);
    await waitForOutput(server, "not authorized to assume the role");
    expect((await server.client.post("/v1/table/ns$t/describe", {})).status).toBe(200);
  });
});

describe("the options of vended credentials", () => {
  it.each([
    [["--vend-role", "reader"], /ARN of a role/],
    [["--vend-endpoint", "https://sts.example"], /needs --vend-role/],
    [["--vend-role", ROLE, "--vend-lifetime", "1m"], /from 15m to 12h/],
    [["--vend-role", ROLE], /needs a root in a bucket/],
  ])("%j is refused", async (args, message) => {
    const dir = tempDir("vended");
    const { code, err } = await runCli(["serve", dir, "--port", "0", ...args]);
    removeDir(dir);
    expect([code, message.test(err)]).toEqual([2, true]);
  });
});
