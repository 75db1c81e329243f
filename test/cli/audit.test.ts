/** The lines of commands in the audit log of a server. */
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { AuditAppender, AuditFile } from "../../src/telemetry/audit/audit-file.js";
import type { AuditEntry } from "../../src/telemetry/audit/audit-log.js";
import { runCli } from "../harness/cli.js";
import type { Json } from "../harness/client.js";
import { startServerForTest } from "../harness/setup-server.js";
import { tempDir } from "../harness/temp.js";

const newLog = (): string => join(tempDir("audit"), "audit.log");
const { username } = userInfo();
const identity = { id: `cli:${username}`, name: username };

/** All lines of the folder. Every line must be complete JSON. */
const readAll = (path: string): Json[] =>
  readdirSync(join(path, ".."))
    .flatMap((file) =>
      readFileSync(join(path, "..", file), "utf8")
        .split("\n")
        .filter(Boolean),
    )
    .map((line) => JSON.parse(line));

const linesOf = (path: string): Json[] =>
  readAll(path).filter((line) => line.identity?.id === identity.id);

describe("the audit log of a server", () => {
  it.skipIf(process.getuid?.() !== 0)(
    "belongs to the owner of its folder if root runs the first command",
    async () => {
      const path = newLog();
      chownSync(join(path, ".."), 12_345, 12_346);
      const made = await runCli([
        "key",
        "create",
        "--name",
        "a",
        tempDir("root"),
        "--audit-log",
        path,
      ]);
      expect(made.code).toBe(0);
      const { uid, gid, mode } = statSync(path);
      expect([uid, gid, mode & 0o777]).toEqual([12_345, 12_346, 0o600]);
    },
  );

  it("has a line for each command that changes keys or grants", async () => {
    const path = newLog();
    const server = await startServerForTest({ args: ["--audit-log", path] });
    const run = (...args: string[]) => runCli([...args, server.root, "--audit-log", path]);
    const made = await run("key", "create", "--name", "app");
    const [, key = "", id = ""] = /: (joust_\S+)\nid: (\S+)/.exec(made.out) ?? [];
    for (const name of ["a", "a$b"]) await server.client.createNamespace(name);
    const subject = `key:${id}`;
    await run(
      "grant",
      "select,insert",
      "--on",
      "namespace:a$b",
      "--to",
      subject,
      "--filter",
      "x = 1",
    );
    await run("revoke", "insert", "--on", "namespace:a$b", "--from", subject);
    await run("grant", "select", "--on", "server", "--to", "group:people");
    const rotated = await run("key", "rotate", id);
    await run("key", "revoke", id);
    const failed = await run("key", "revoke", key);
    expect(failed).toMatchObject({ code: 1, err: expect.stringContaining("there is no key") });
    await run("key", "list");
    await server.stop();

    const named = { subject, subject_name: "app" };
    const on = { object: "namespace:a$b" };
    const people = { subject: "group:people", object: "server", privileges: ["select"] };
    expect(linesOf(path).map(({ operation, grant, status }) => [operation, status, grant])).toEqual(
      [
        ["CreateKey", 200, { ...named, role: "none" }],
        ["AddGrant", 200, { ...named, ...on, privileges: ["select", "insert"], filter: "x = 1" }],
        ["DeleteGrant", 200, { ...named, ...on, privileges: ["insert"] }],
        ["AddGrant", 200, people],
        ["RotateKey", 200, named],
        ["RevokeKey", 200, named],
        // The text of the command was a key.
        ["RevokeKey", 404, {}],
      ],
    );
    for (const line of linesOf(path)) {
      expect(line).toMatchObject({ identity, remote: "", time: expect.stringMatching(/Z$/) });
    }
    const text = readFileSync(path, "utf8");
    expect(text).toContain('"operation":"CreateNamespace"');
    for (const out of [made.out, rotated.out]) {
      expect(text).not.toContain(/joust_\S+/.exec(out)?.[0] as string);
    }
  }, 90_000);

  it("is also found in the environment and in the configuration file", async () => {
    const path = newLog();
    const cwd = tempDir("cli");
    const create = ["key", "create", "--name", "a", "data"];
    await runCli(create, { cwd, env: { JOUST_AUDIT_LOG: path } });
    writeFileSync(join(cwd, "server.toml"), `audit-log = ${JSON.stringify(path)}\n`);
    await runCli([...create, "--config", "server.toml"], { cwd });
    expect(linesOf(path)).toHaveLength(2);
    expect(await runCli(create, { cwd })).toMatchObject({ code: 0, err: "" });
    expect(linesOf(path)).toHaveLength(2);
  });

  it("stops a command that cannot open it, before the change", async () => {
    const root = join(tempDir("cli"), "data");
    const folder = join(tempDir("audit"), "folder");
    mkdirSync(folder);
    const made = await runCli(["key", "create", "--name", "a", root, "--audit-log", folder]);
    expect(made).toMatchObject({ code: 1, out: "" });
    expect(made.err).toMatch(/^joust: the audit log \S+ cannot be opened/);
    expect((await runCli(["key", "list", root])).out).toBe("");
  });
});

const entry = (name: string): AuditEntry => ({
  time: new Date().toISOString(),
  request_id: name,
  remote: "",
  identity,
  operation: "CreateKey",
  status: 200,
  ms: 1,
});

describe("a line that a command appends", () => {
  it("remains complete while the server writes and renames the file", async () => {
    const path = newLog();
    const options = { path, maxBytes: 4_096, maxFiles: 100 };
    const server = await AuditFile.open(options, pino({ level: "silent" }));
    const count = 200;
    const names = Array.from({ length: count }, (_, n) => `command-${n}`);
    for (const name of names) {
      const command = await AuditAppender.open(path);
      const lines = [0, 1, 2].map((n) => `${JSON.stringify(entry(`server-${name}-${n}`))}\n`);
      for (const line of lines) server.append(line, 1);
      await Promise.all([command.append(entry(name)), server.reopen()]);
      await command.close();
    }
    await server.close();
    const ids = readAll(path).map(({ request_id }) => request_id);
    expect(ids.filter((id) => id.startsWith("command")).sort()).toEqual(names.sort());
    expect(ids).toHaveLength(4 * count);
    expect(existsSync(`${path}.20`)).toBe(true);
  });

  it("begins on a new line after a torn one, and so does the next line of the server", async () => {
    const path = newLog();
    const server = await AuditFile.open(
      { path, maxBytes: 65_536, maxFiles: 2 },
      pino({ level: "silent" }),
    );
    const command = await AuditAppender.open(path);
    writeFileSync(path, '{"torn', { flag: "a" });
    await command.append(entry("first"));
    writeFileSync(path, '{"torn', { flag: "a" });
    server.append(`${JSON.stringify(entry("second"))}\n`, 1);
    await server.close();
    await command.close();
    const lines = readFileSync(path, "utf8").split("\n");
    expect(lines.map((line) => (line.startsWith('{"torn') ? "torn" : line && "line"))).toEqual([
      "torn",
      "line",
      "torn",
      "line",
      "",
    ]);
  });
});
