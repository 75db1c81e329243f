import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runCli } from "../harness/cli.js";
import { startServerForTest } from "../harness/setup-server.js";
import { removeDir, tempDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";
import { waitForOutput } from "../harness/wait-for-output.js";
import { expectRefusal, setupLimitedServer, variants } from "./limited-server.js";

const none = { roles: { read: { requests_per_second: 1e-4, burst: 1 } } };

describe.each(variants)("the limits of --http %s and --http-threads %s", (http, threads) => {
  const limited = setupLimitedServer(http, threads);
  const list = () => limited.reader.post("/v1/namespace/$/list");

  it("are loaded again when the file changes", async () => {
    expect((await list()).status).toBe(200);
    limited.writeFile(JSON.stringify(none));
    const refusal = await waitFor("the limits are used", async () => {
      const answer = await list();
      return answer.status === 429 && answer;
    });
    expectRefusal(refusal, "requests_per_second", /burst 1/);
  });

  it("stay if the file becomes invalid, and the log says why", async () => {
    limited.writeFile("roles: {read: {requests_per_second: fast}}");
    process.kill(limited.server.pid, "SIGHUP");
    await waitForOutput(limited.server, "roles.read.requests_per_second in limits.yaml must be");
    await waitForOutput(limited.server, "the former ones stay in use");
    expect((await list()).status).toBe(429);
  });

  it("can be lifted", async () => {
    await limited.setLimits({});
    for (let n = 0; n < 20; n++) expect((await list()).status).toBe(200);
  });
});

describe("joust serve", () => {
  it("does not start with an invalid limits file", async () => {
    const dir = tempDir("limits");
    const file = join(dir, "limits.yaml");
    const serve = () => runCli(["serve", join(dir, "root"), "--port", "0", "--limits", file]);
    expect(await serve()).toMatchObject({
      code: 2,
      err: "joust: the file limits.yaml of --limits cannot be read (ENOENT)\n",
    });
    writeFileSync(file, "keys: {a: {rps: 1}}");
    const { code, err } = await serve();
    expect(code).toBe(2);
    expect(err).toMatch(/^joust: keys\.a in limits\.yaml has the member rps; members are requests/);
    removeDir(dir);
  });

  it("limits only requests without a key without --limits", async () => {
    const { client } = await startServerForTest();
    const answers = await Promise.all(
      Array.from({ length: 300 }, () => client.withKey("").post("/v1/namespace/$/list")),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
    const served = Array.from({ length: 300 }, () => client.post("/v1/namespace/$/list"));
    expect((await Promise.all(served)).every(({ status }) => status === 200)).toBe(true);
    const { text } = await client.get("/metrics");
    expect(text).not.toMatch(/^joust_limit_refused_total.* [1-9]/m);
  });
});
