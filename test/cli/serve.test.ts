import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CLI_MAIN, createKey, runCli } from "../harness/cli.js";
import { Client } from "../harness/client.js";
import type { Server } from "../harness/server.js";
import { startServerForTest } from "../harness/setup-server.js";
import { tempDir } from "../harness/temp.js";
import { waitForOutput } from "../harness/wait-for-output.js";

/** The path of the first admin key file in the server's output. */
const keyFile = (server: Server) =>
  /^a first admin key is in (\S+): read it/m.exec(server.output())?.[1];
const status = async (server: Server, key: string) =>
  (await new Client(server.url, key).get("/v1/table")).status;

describe("the first start on a root", () => {
  it("creates an admin key in a file of the user and prints only the path", async () => {
    const root = tempDir("root");
    const first = await startServerForTest({ root, key: null });
    const file = keyFile(first) ?? "";
    expect(file).toBe(join(root, ".joust", "admin-key"));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const key = readFileSync(file, "utf8").trim();
    expect(key).toMatch(/^joust_[\w-]{43}$/);
    expect(first.output()).not.toContain(key.slice(6));
    expect(await status(first, key)).toBe(200);
    expect(await status(first, "")).toBe(401);
    expect(await first.stop()).toBe(0);

    const second = await startServerForTest({ root, key: null });
    expect(keyFile(second)).toBeUndefined();
    expect(await status(second, key)).toBe(200);
  });

  it("continues without a key and prints a hint if the key file cannot be written", async () => {
    const root = tempDir("root");
    mkdirSync(join(root, ".joust"));
    // A directory with the file's name cannot be written, even by root.
    for (let n = 1; n <= 100; n++)
      mkdirSync(join(root, ".joust", `admin-key${n > 1 ? `-${n}` : ""}`));
    const server = await startServerForTest({ root, key: null });
    expect(keyFile(server)).toBeUndefined();
    await waitForOutput(server, "joust key create --role admin");
    expect(await status(server, "")).toBe(401);
  });

  it("creates no key if one is configured", async () => {
    const server = await startServerForTest({ key: "a-key-of-my-own" });
    expect(keyFile(server)).toBeUndefined();
    expect(await status(server, "a-key-of-my-own")).toBe(200);
    expect(await status(server, "another")).toBe(401);
    expect(existsSync(join(server.root, ".joust", "admin-key"))).toBe(false);
  });

  it("reads the configured key from a file", async () => {
    const file = join(tempDir("key"), "key");
    writeFileSync(file, "a-key-of-my-own\n");
    const server = await startServerForTest({ key: null, args: ["--api-key-file", file] });
    expect(keyFile(server)).toBeUndefined();
    expect(await status(server, "a-key-of-my-own")).toBe(200);
    expect(await status(server, "another")).toBe(401);
  });
});

describe("a catalog outside of the root", () => {
  it("is readable only by its user, together with its journal files", async () => {
    const directory = tempDir("catalog");
    const path = join(directory, "names.db");
    const server = await startServerForTest({ args: ["--catalog", path] });
    await server.client.createNamespace("ns");
    const files = readdirSync(directory);
    expect(files).toContain("names.db-wal");
    expect(files.some((name) => name.startsWith("names.db-server-"))).toBe(true);
    const modes = files.map((name) => [name, statSync(join(directory, name)).mode & 0o077]);
    expect(modes).toEqual(files.map((name) => [name, 0]));
  });
});

describe("keys of a running server", () => {
  it("can be created and revoked while the server runs", async () => {
    const server = await startServerForTest({});
    const { key, id } = await createKey(server.root);
    expect(await status(server, key)).toBe(200);
    await runCli(["key", "revoke", id, server.root]);
    await expect.poll(() => status(server, key), { timeout: 3_000 }).toBe(401);
  });
});

describe("--auth none", () => {
  it("accepts requests without a key and logs a warning", async () => {
    const server = await startServerForTest({ key: null, args: ["--auth", "none"] });
    expect(await status(server, "")).toBe(200);
    await waitForOutput(server, "--auth none");
    expect(keyFile(server)).toBeUndefined();
  });
});

describe("a root that cannot be listed", () => {
  it("ends the start with one sentence that names the cause", () => {
    const root = tempDir("root");
    const versions = join(root, "__manifest", "_versions");
    mkdirSync(versions, { recursive: true });
    writeFileSync(join(versions, "1.manifest"), "no manifest at all");
    const args = [CLI_MAIN, "serve", root, "--port", "0"];
    const { status, stderr } = spawnSync(process.execPath, args, {
      encoding: "utf8",
      timeout: 20_000,
    });
    expect(status).toBe(1);
    expect(stderr).toMatch(/^joust: the tables in \S+ cannot be listed: \w[^\n]+\n$/);
    expect(stderr).toContain(root);
    expect(stderr).toContain("`__manifest` of the root can't be read: ");
    expect(stderr).not.toMatch(/log says|\.rs:/);
  });
});

describe("a port that is in use", () => {
  it("ends the start with one sentence", async () => {
    const server = await startServerForTest({});
    const args = [CLI_MAIN, "serve", tempDir("root"), "--port", String(server.port)];
    const second = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 20_000 });
    expect(second.status).toBe(1);
    expect(second.stderr).toBe(
      `joust: cannot listen on 127.0.0.1:${server.port}: the port is in use: choose another --port, or stop the program that listens on it\n`,
    );
  });
});

describe("the access log", () => {
  it("has one line for each request at log level debug and none above", async () => {
    const server = await startServerForTest({ args: ["--log-level", "debug"] });
    await server.client.request("/v1/table", {
      method: "GET",
      headers: { "x-request-id": "seen" },
    });
    const line = () =>
      server
        .output()
        .split("\n")
        .find((text) => text.includes('"seen"'));
    await expect.poll(line).toBeDefined();
    expect(JSON.parse(line() ?? "")).toMatchObject({
      operation: "ListAllTables",
      path: "/v1/table",
      status: 200,
      ms: expect.any(Number),
      requestId: "seen",
    });
    const quiet = await startServerForTest({});
    await quiet.client.get("/v1/table");
    expect(quiet.output()).not.toContain('"requestId"');
  });
});
