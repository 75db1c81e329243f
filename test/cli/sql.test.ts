import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tableFromIPC } from "apache-arrow";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { csvRows } from "../../src/cli/csv.js";
import { tableText } from "../../src/cli/sql-print.js";
import { items, stream, type } from "../harness/arrow.js";
import { CLI_MAIN, runCliBytes } from "../harness/cli.js";
import { startProcess } from "../harness/process.js";
import { type Server, startServer } from "../harness/server.js";
import { removeDir, tempDir } from "../harness/temp.js";

const joust = (args: readonly string[], env: Record<string, string> = {}) =>
  runCliBytes(args, { env, timeoutMs: 60_000 });

let root: string;
let server: Server;
beforeAll(async () => {
  root = tempDir("sql");
  server = await startServer({ root });
  await server.client.createTable("t", items(100));
  await server.client.createNamespace("ns");
  await server.client.createTable(
    "ns$odd",
    stream({ n: [type.i64, [2n ** 60n, null]], s: [type.text, ['a,"b"\n\u0007c', ""]] }),
  );
});
afterAll(async () => {
  await server?.stop();
  removeDir(root);
});

/** Where a statement runs: on a server, or on a root in the command's process. */
const places = {
  "on a server": () => ["--url", server.url],
  "on a root": () => [root],
};

describe.each(Object.entries(places))("joust sql %s", (_, place) => {
  const run = (query: string, ...args: string[]) =>
    joust(["sql", query, ...place(), ...args], { JOUST_API_KEY: server.key });
  const text = async (query: string, ...args: string[]) => {
    const { code, out, err } = await run(query, ...args);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    return out.toString();
  };

  it("prints rows as a table", async () => {
    expect(await text("SELECT id, name, price FROM t WHERE id IN (9, 10) ORDER BY id")).toBe(
      [
        "id  name     price",
        "--  -------  -----",
        " 9  item 9     4.5",
        "10  item 10    5.0",
        "(2 rows)",
        "",
      ].join("\n"),
    );
    const many = await text("SELECT id FROM t ORDER BY id");
    expect(many.split("\n")).toHaveLength(2 + 40 + 2);
    expect(many).toMatch(/\n39\n\(40 rows shown, there are more: use --rows, or --format .*\)\n$/);
    expect(await text("SELECT id FROM t", "--rows", "100")).toMatch(/\(100 rows\)\n$/);
    expect(await text("SELECT id FROM t", "--limit=1")).toMatch(/\(1 row\)\n$/);
    expect(await text("SELECT id FROM t WHERE false")).toBe("id\n--\n(0 rows)\n");
    expect(await text("EXPLAIN SELECT id FROM t")).toMatch(/physical_plan .*\n.*LanceRead: uri=t/);
  });

  it("prints CSV, JSON and Arrow", async () => {
    const query = "SELECT n, s FROM ns.odd ORDER BY n";
    expect(await text(query, "--format", "csv")).toBe(
      `n,s\r\n${2n ** 60n},"a,""b""\n\u0007c"\r\n,""\r\n`,
    );
    const json = await text(query, "--format", "json");
    expect(JSON.parse(json)).toEqual([
      { n: String(2n ** 60n), s: 'a,"b"\n\u0007c' },
      { n: null, s: "" },
    ]);
    expect(JSON.parse(await text("SELECT 1 WHERE false", "--format", "json"))).toEqual([]);
    const arrow = tableFromIPC((await run(query, "--format", "arrow")).out);
    expect([...(arrow.getChild("n") ?? [])]).toEqual([2n ** 60n, null]);
    const all = await text("SELECT a.id FROM t a, t b, t c LIMIT 30000", "--format", "json");
    expect(JSON.parse(all)).toHaveLength(30_000);
  });

  it("writes a Parquet file to stdout", async () => {
    const { code, out, err } = await run("SELECT id, name FROM t", "--format", "parquet");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out.subarray(0, 4).toString()).toBe("PAR1");
    expect(out.subarray(-4).toString()).toBe("PAR1");
    const refused = await run("SELECT a.id, b.id FROM t a, t b", "--format", "parquet");
    expect(refused).toMatchObject({ code: 1, err: expect.stringMatching(/two columns `id`/) });
    expect(refused.out).toHaveLength(0);
  });

  it("binds parameters", async () => {
    expect(
      await text(
        "SELECT id FROM t WHERE name = $1 AND id = $2 AND $3 IS NULL",
        ...["--param", "item 7", "--param", "7", "--param=null", "--format", "csv"],
      ),
    ).toBe("id\r\n7\r\n");
  });

  it("prints one sentence for an invalid statement", async () => {
    for (const [query, wanted] of [
      ["SELECT x FROM none", /"none" does not exist/],
      ["TRUNCATE TABLE t", /DELETE FROM t/],
      ["SELECT none FROM t", /none/],
    ] as const) {
      const { code, out, err } = await run(query);
      expect({ code, out: out.toString() }).toEqual({ code: 1, out: "" });
      expect(err).toMatch(/^joust: [^\n]+\n$/);
      expect(err).toMatch(wanted);
    }
  });
});

describe("a statement that changes something", () => {
  const run = (query: string, ...args: string[]) =>
    joust(["sql", query, ...args], { JOUST_API_KEY: server.key });

  it("runs on a server", async () => {
    const on = ["--url", server.url];
    const texts = [];
    for (const query of [
      "CREATE TABLE made (id BIGINT)",
      "INSERT INTO made VALUES ($1), (2)",
      "DROP TABLE made",
    ]) {
      const params = query.includes("$1") ? ["--param", "1"] : [];
      const { code, out, err } = await run(query, ...on, ...params);
      expect({ code, err }).toEqual({ code: 0, err: "" });
      texts.push(out.toString());
    }
    expect(texts).toEqual(["done\n", "count\n-----\n    2\n(1 row)\n", "done\n"]);
  });

  it("is refused on a root", async () => {
    const { code, err } = await run("DELETE FROM t", root);
    expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(/--url/) });
    expect(await server.client.count("t")).toBe(100);
  });
});

describe("joust sql on a root", () => {
  it("does not delay the removal of tables that a server drops", async () => {
    const files = async (table: string) => {
      const { location } = await server.client.ok(`/v1/table/${table}/describe`);
      return location.replace("file://", "");
    };
    await server.client.createTable("dropped", items(10));
    const directory = await files("dropped");
    expect(existsSync(directory)).toBe(true);
    // The test does not read the rest of the output, so the command runs until the test kills it.
    const query = "SELECT a.id FROM t a, t b, t c";
    const args = ["sql", query, root, "--format", "csv"];
    const { process: running } = await startProcess(
      process.execPath,
      { args: [CLI_MAIN, ...args], env: { PATH: process.env.PATH } },
      (output) => output.includes("id") || undefined,
    );
    running.child.stdout?.pause();
    onTestFinished(async () => void (await running.stop("SIGKILL")));
    await server.client.ok("/v1/table/dropped/drop");
    expect(existsSync(directory)).toBe(false);
    expect(running.child.exitCode).toBeNull();
  });
});

describe("joust sql", () => {
  it("reads its key from the environment or from a file", async () => {
    const file = join(root, "key");
    writeFileSync(file, `${server.key}\n`);
    const asked = ["sql", "SELECT 1 AS one", "--url", server.url, "--format", "csv"];
    const given = await joust([...asked, "--api-key-file", file]);
    expect({ code: given.code, out: given.out.toString() }).toEqual({
      code: 0,
      out: "one\r\n1\r\n",
    });
    const none = await joust(asked);
    expect(none).toMatchObject({ code: 1, err: expect.stringMatching(/^joust: .*key.*\n$/) });
  });

  it.each<[string[], RegExp]>([
    [[], /needs a statement/],
    [["--url", "http://localhost"], /needs a statement/],
    [["SELECT 1", "--format", "xml"], /--format must be one of table, csv, json, arrow, parquet/],
    [["SELECT 1", "--rows", "many"], /--rows must be a number of rows/],
    [["SELECT 1", "--limit", "-1"], /--limit must be a number of rows/],
    [["SELECT 1", "--url", "nowhere"], /--url must be an http or https URL/],
    [["SELECT 1", "--url", "http://127.0.0.1:1", "more"], /more has no effect with --url/],
    [["SELECT 1", "--prot", "1"], /--prot is not an option/],
  ])("rejects %j", async (args, wanted) => {
    const { code, err } = await joust(["sql", ...args]);
    expect(code).toBe(2);
    expect(err).toMatch(/^joust: [^\n]+\n$/);
    expect(err).toMatch(wanted);
  });

  it("prints an error if no server answers, and creates no directory", async () => {
    const unreachable = await joust(["sql", "SELECT 1", "--url", "http://127.0.0.1:1"]);
    expect(unreachable).toMatchObject({ code: 1 });
    expect(unreachable.err).toMatch(/^joust: http:\/\/127\.0\.0\.1:1 is unreachable.*\n$/);
    const missing = await joust(["sql", "SELECT 1", join(root, "nowhere")]);
    expect(missing).toMatchObject({
      code: 1,
      err: expect.stringMatching(/the directory \S+ does not exist/),
    });
  });
});

describe("the text table output", () => {
  it("is aligned, truncates long values and prints no control characters", () => {
    const long = "x".repeat(200);
    const shown = tableText(
      ["a", "b"],
      [
        ["1", long],
        [null, "\u001b[31mé"],
        ["-20.5", "p\nq"],
      ],
    );
    expect(shown.split("\n")).toEqual([
      "    a  b",
      `-----  ${"-".repeat(100)}`,
      `    1  ${"x".repeat(99)}…`,
      " null  \ufffd[31mé",
      "-20.5  p",
      "       q",
      "",
    ]);
  });

  it("distinguishes null from the empty string when it is read from CSV", () => {
    expect(csvRows('a,b\r\n1,\r\n,"x ""y"",\r\nz"\r\n"",\r\n')).toEqual([
      ["a", "b"],
      ["1", null],
      [null, 'x "y",\r\nz'],
      ["", null],
    ]);
    expect(csvRows("a\r\n\r\n1\r\n")).toEqual([["a"], [null], ["1"]]);
  });
});
