import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { items } from "../harness/arrow.js";
import { type S3, s3Missing, startS3 } from "../harness/s3.js";
import { startServerForTest } from "../harness/setup-server.js";
import { removeDir, tempDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";

describe.skipIf(s3Missing)("a warning of Lance", () => {
  let s3: S3;
  beforeAll(async () => {
    s3 = await startS3();
  });
  afterAll(() => s3.stop());

  it("is a line of the server's log", async () => {
    const catalog = tempDir("log-catalog");
    onTestFinished(() => removeDir(catalog));
    const server = await startServerForTest({
      root: `${s3.createBucket()}/tables`,
      args: ["--catalog", `${catalog}/names.db`],
      // Lance warns about a size that no store accepts, and uses the smallest one.
      env: { ...s3.env, LANCE_INITIAL_UPLOAD_SIZE: "1000" },
    });
    await server.client.createTable("t", items(3));
    const line = await waitFor("the warning", () =>
      server
        .output()
        .split("\n")
        .find((one) => one.includes("LANCE_INITIAL_UPLOAD_SIZE")),
    );
    expect(JSON.parse(line)).toMatchObject({
      level: 40,
      module: "lance_io::object_writer",
      values: { requested: "1000" },
      msg: expect.stringContaining("between 5MB and 5GB"),
    });
  });
});
