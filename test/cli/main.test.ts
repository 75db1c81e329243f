import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runCli } from "../harness/cli.js";
import { tempDir } from "../harness/temp.js";

describe("joust", () => {
  it("prints its help and its version", async () => {
    const help = await runCli(["--help"]);
    expect(help).toMatchObject({ code: 0, err: "" });
    expect(help.out).toContain("joust serve [ROOT] [options]");
    expect(help.out).toContain("--drain-timeout TIME");
    expect(await runCli(["serve", "--help"])).toEqual(help);
  });

  it("prints the versions of its parts and the HTTP transport of this host", async () => {
    const { code, out } = await runCli(["--version"]);
    expect(code).toBe(0);
    const [version, engine, http] = out.split("\n");
    expect(version).toMatch(/^joust \d+\.\d+\.\d+$/);
    expect(engine).toBe(
      `engine ${version?.slice("joust ".length)}, lance 14.0.2, stores: local, aws, azure, gcp`,
    );
    expect(http).toMatch(/^HTTP (uWebSockets\.js|Node) \d+\.\d+\S* \(.+\)$/);
  });

  it.each([
    [
      [],
      "joust: no command is given: try joust serve, joust demo, joust key, joust grant, joust maintain, joust sql or joust --help\n",
    ],
    [
      ["server"],
      "joust: server is not a command: try joust serve, joust demo, joust key, joust grant, joust maintain, joust sql or joust --help\n",
    ],
    [["serve", "--prot", "1"], "joust: --prot is not an option: did you mean --port?\n"],
    [
      ["serve", "--follow-links", "maybe"],
      'joust: --follow-links must be one of always, never, got "maybe"\n',
    ],
    [["serve", "--port", "x"], 'joust: --port must be an integer from 0 to 65535, got "x"\n'],
    [["demo", "--twice"], 'joust: joust demo takes --once or --stay, got "--twice"\n'],
    [["key"], "joust: joust key takes create, list, rotate or revoke\n"],
    [
      ["key", "create"],
      "joust: joust key create needs --name, which identifies the key in the list\n",
    ],
    [
      ["key", "create", "--name", "workers of job a"],
      'joust: the name "workers of job a" is reserved for the workers of jobs: choose another\n',
    ],
    [
      ["key", "create", "--name", "a", "--role", "god"],
      'joust: --role must be one of none, read, write, admin, got "god"\n',
    ],
    [["key", "revoke"], "joust: joust key revoke needs the ID of a key: joust key list shows it\n"],
    [["key", "rotate"], "joust: joust key rotate needs the ID of a key: joust key list shows it\n"],
    [
      ["key", "create", "--name", "a", "--expires", "soon"],
      'joust: --expires must be a time such as 500ms, 30s or 7d, got "soon"\n',
    ],
    [
      ["key", "create", "--name", "a", "--expires", "0"],
      "joust: --expires must be a time above 0, such as 90d\n",
    ],
    [
      ["key", "rotate", "id", "--overlap", "40000d"],
      'joust: --overlap must be at most 36500d, got "40000d"\n',
    ],
  ])("%j exits with 2 and prints one sentence", async (args, err) => {
    expect(await runCli(args)).toEqual({ code: 2, out: "", err });
  });
});

describe("joust serve", () => {
  it("prints one sentence if the root cannot be used", async () => {
    const dir = tempDir("cli");
    writeFileSync(join(dir, "file"), "");
    const { code, out, err } = await runCli(["serve", join(dir, "file")]);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toMatch(/^joust: [^\n]+\n$/);
    expect(err).not.toMatch(/\bat \S+ \(|Error:/);
  });
});

describe("joust key", () => {
  it("creates a key without a role unless --role names one, and says how to grant", async () => {
    const cwd = tempDir("cli");
    for (const role of [[], ["--role", "none"]]) {
      const made = await runCli(["key", "create", "--name", "app", ...role, "data"], { cwd });
      expect(made).toMatchObject({ code: 0, err: "" });
      const [, id = ""] = /^none key \(shown once\): \S+\nid: (\S+)\n/.exec(made.out) ?? [];
      expect(made.out).toContain(
        `\nthe key has no role and may do nothing yet: use \`joust grant select --on OBJECT --to key:${id}\`, or`,
      );
    }
    const { out } = await runCli(["key", "list", "data"], { cwd });
    expect(out).toMatch(/^\S+ {2}none .*\n\S+ {2}none .*\n$/);
  });

  it("creates, lists and revokes keys", async () => {
    const cwd = tempDir("cli");
    const create = ["key", "create", "--role", "read", "--name", "reader one", "data"];
    const made = await runCli(create, { cwd });
    expect(made).toMatchObject({ code: 0, err: "" });
    const [, key = "", id = ""] =
      /^read key \(shown once\): (\S+)\nid: (\S+)\n$/.exec(made.out) ?? [];
    expect(key).toMatch(/^joust_[\w-]{43}$/);

    await runCli(["key", "create", "--role=admin", "--name=boss", "--root", "data"], { cwd });
    const { out } = await runCli(["key", "list", "data"], { cwd });
    expect(out).toMatch(
      new RegExp(
        `^${id}  read   \\S+Z  expires never +used never +reader one\\n\\S+  admin  \\S+Z  expires never +used never +boss\\n$`,
      ),
    );
    expect(out).not.toContain(key);

    const rotated = await runCli(
      ["key", "rotate", id, "--overlap", "2h", "--expires=90d", "data"],
      { cwd },
    );
    const [, second = "", same, expires = "", former = ""] =
      /^read key \(shown once\): (\S+)\nid: (\S+)\nexpires: (\S+)\nformer keys: valid until (\S+) at most\n$/.exec(
        rotated.out,
      ) ?? [];
    expect([second === key, same]).toEqual([false, id]);
    expect(Date.parse(expires) - Date.parse(former)).toBe((90 * 24 - 2) * 3_600_000);
    expect((await runCli(["key", "list", "data"], { cwd })).out).toContain(`expires ${expires}`);
    const leaked = await runCli(["key", "rotate", id, "--overlap=0", "data"], { cwd });
    expect(leaked.out).toMatch(/\nformer keys: invalid\n$/);
    expect(await runCli(["key", "rotate", "missing", "data"], { cwd })).toEqual({
      code: 1,
      out: "",
      err: "joust: there is no key with the id missing\n",
    });

    expect(await runCli(["key", "revoke", id, "data"], { cwd })).toMatchObject({
      code: 0,
      out: `revoked ${id}\n`,
    });
    expect((await runCli(["key", "list", "data"], { cwd })).out).not.toContain(id);
    expect(await runCli(["key", "revoke", id, "data"], { cwd })).toEqual({
      code: 1,
      out: "",
      err: `joust: there is no key with the id ${id}\n`,
    });
  });
});
