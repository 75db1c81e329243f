import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import Database from "libsql";
import { afterEach, describe, expect, it } from "vitest";
import { newCertificate } from "../harness/certificate.js";
import { type CliResult, runCli } from "../harness/cli.js";
import { SmallDisk, smallDiskMissing } from "../harness/small-disk.js";
import { removeDir, tempDir } from "../harness/temp.js";

const directories: string[] = [];

function newDir(): string {
  const dir = tempDir("bad-input");
  directories.push(dir);
  return dir;
}

afterEach(() => {
  for (const dir of directories.splice(0)) removeDir(dir);
});

/** Exit code 1, and one sentence that says what to do. */
function expectSentence({ code, err }: CliResult, sentence: string | RegExp): void {
  expect([code, err]).toEqual([1, expect.stringMatching(/^joust: [^\n]+\n$/)]);
  if (typeof sentence === "string") expect(err).toBe(`joust: ${sentence}\n`);
  else expect(err).toMatch(sentence);
}

describe("joust serve", () => {
  it("creates nothing in the root if the certificate is invalid", async () => {
    const dir = newDir();
    const { certFile, keyFile } = newCertificate(dir, "good");
    const other = newCertificate(dir, "other");
    const serve = (cert: string, key: string) => {
      const tls = ["--tls-cert", cert, "--tls-key", key];
      return runCli(["serve", join(dir, "data"), "--port", "0", ...tls]);
    };
    const none = join(dir, "none.pem");
    expectSentence(
      await serve(none, keyFile),
      `--tls-cert ${none}: the file does not exist: give the path of a PEM file`,
    );
    expectSentence(
      await serve(certFile, dir),
      `--tls-key ${dir}: it is a directory: give the path of a PEM file`,
    );
    expectSentence(
      await serve(certFile, other.keyFile),
      "--tls-cert and --tls-key cannot be used: the key belongs to another certificate: give the files of one pair",
    );
    expect(existsSync(join(dir, "data"))).toBe(false);
  });

  it("names the port that is in use and starts on the same root afterwards", async () => {
    const dir = newDir();
    const taken = createServer();
    const port = await new Promise<number>((resolve) => {
      taken.listen(0, "127.0.0.1", () => resolve((taken.address() as { port: number }).port));
    });
    try {
      expectSentence(
        await runCli(["serve", join(dir, "data"), "--port", String(port)]),
        `cannot listen on 127.0.0.1:${port}: the port is in use: choose another --port, or stop the program that listens on it`,
      );
    } finally {
      taken.close();
    }
    expect(await runCli(["key", "list", join(dir, "data")])).toMatchObject({ code: 0, err: "" });
  });

  it("creates nothing in the root if Python cannot run functions", async () => {
    const dir = newDir();
    const serve = (python: string) => {
      const functions = ["--functions", "subprocess", "--python", python];
      return runCli(["serve", join(dir, "data"), "--port", "0", ...functions]);
    };
    const none = join(dir, "none");
    expectSentence(
      await serve(none),
      `--functions subprocess: ${none} is no program that can be started: install Python 3, or name its path with --python`,
    );
    const bare = join(dir, "bare");
    writeFileSync(
      bare,
      "#!/bin/sh\necho \"ModuleNotFoundError: No module named 'pyarrow'\" >&2\nexit 1\n",
    );
    chmodSync(bare, 0o755);
    expectSentence(
      await serve(bare),
      `--functions subprocess: the package pyarrow is missing: install it with \`${bare} -m pip install pyarrow\`, or name another interpreter with --python`,
    );
    expect(existsSync(join(dir, "data"))).toBe(false);
  });

  it("rejects a data directory of a newer version and leaves it unchanged", async () => {
    const root = join(newDir(), "data");
    await runCli(["key", "create", "--name", "one", root]);
    const file = join(root, ".joust", "catalog.db");
    const database = new Database(file);
    database.exec("insert into joust_migrations (name, timestamp) values ('9999-later', '')");
    database.exec("pragma wal_checkpoint(truncate)");
    database.close();
    const before = readFileSync(file);
    for (const args of [
      ["serve", root, "--port", "0"],
      ["maintain", root],
      ["key", "list", root],
    ]) {
      expectSentence(
        await runCli(args),
        "the catalog belongs to a newer version of joust (it has 9999-later): start that version, or restore the catalog from a backup that this version made",
      );
    }
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it("tells what to do if the compiled engine does not fit this host", async () => {
    const dir = newDir();
    const engine = join(dir, "engine.node");
    writeFileSync(engine, "no library at all\n".repeat(300));
    const env = { NAPI_RS_NATIVE_LIBRARY_PATH: engine };
    for (const args of [["serve", join(dir, "data")], ["demo"], ["maintain", join(dir, "data")]]) {
      const ended = await runCli(args, { env });
      expectSentence(ended, /: the installed engine is for another platform than \S+: remove /);
      expect(ended.out).toBe("");
    }
    expect(existsSync(join(dir, "data"))).toBe(false);
  });
});

const withDisk = describe.skipIf(smallDiskMissing !== undefined);
if (smallDiskMissing !== undefined) console.log(`skipped: a full disk: ${smallDiskMissing}`);

withDisk("a disk", () => {
  let disk: SmallDisk | undefined;
  afterEach(() => disk?.remove());

  const commands = (root: string) => [
    ["serve", root, "--port", "0"],
    ["key", "create", "--name", "one", root],
  ];

  it.each([0, 16_384, 262_144])(
    "with a disk that is full except for %d bytes the commands name the full disk and work after space is free",
    async (left) => {
      disk = new SmallDisk(8);
      const root = join(disk.path, "data");
      disk.fill(left);
      for (const args of commands(root)) {
        expectSentence(
          await runCli(args),
          /^joust: no space is left on the disk for .+: free some, or /,
        );
      }
      disk.empty();
      const made = await runCli(["key", "create", "--name", "one", root]);
      expect(made).toMatchObject({ code: 0, err: "" });
    },
  );

  it("with a read-only disk the commands name the read-only disk", async () => {
    disk = new SmallDisk(8);
    const root = join(disk.path, "data");
    mkdirSync(root);
    disk.setReadOnly(true);
    for (const args of commands(root)) {
      expectSentence(
        await runCli(args),
        /is on a read-only file system: mount it for writing, or /,
      );
    }
  });
});
