import { mkdirSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import getPort from "get-port";
import { startProcess } from "./process.js";
import { findProgram, goDirectories } from "./programs.js";
import { removeDir, tempDir } from "./temp.js";
import { waitFor } from "./wait-for.js";

const versitygw = findProgram("versitygw", goDirectories());

/** Why tests on S3 cannot run here; undefined when they can. For `describe.skipIf`. */
export const s3Missing = versitygw
  ? undefined
  : "versitygw is not installed (go install github.com/versity/versitygw/cmd/versitygw@latest)";

export interface S3 {
  readonly endpoint: string;
  /** Its subdirectories are the buckets, and the files in them the objects. */
  readonly directory: string;
  /** Environment with which a server reaches it. */
  readonly env: Readonly<Record<string, string>>;
  /** `s3://...` of a new, empty bucket. */
  createBucket(): string;
  stop(): Promise<void>;
}

/** Starts a real S3 server on a temporary directory. */
export async function startS3(): Promise<S3> {
  if (!versitygw) throw new Error(s3Missing);
  const directory = tempDir("s3");
  const port = await getPort({ host: "127.0.0.1" });
  const access = "joust";
  const secret = "joust-on-loopback";
  const { process: running } = await startProcess(
    versitygw,
    {
      args: [
        "--port",
        `127.0.0.1:${port}`,
        "--access",
        access,
        "--secret",
        secret,
        "posix",
        directory,
      ],
    },
    () => true,
  ).catch((error: unknown) => {
    removeDir(directory);
    throw error;
  });
  await waitFor("the S3 server listens", () => canConnect(port));

  const endpoint = `http://127.0.0.1:${port}`;
  let created = 0;
  return {
    endpoint,
    directory,
    env: {
      AWS_ACCESS_KEY_ID: access,
      AWS_SECRET_ACCESS_KEY: secret,
      AWS_REGION: "us-east-1",
      AWS_ENDPOINT: endpoint,
      AWS_ALLOW_HTTP: "true",
    },
    createBucket() {
      const name = `bucket-${++created}`;
      mkdirSync(join(directory, name));
      return `s3://${name}`;
    },
    async stop() {
      await running.stop();
      removeDir(directory);
    },
  };
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
