import { execFile } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningProcess, startProcess } from "../harness/process.js";
import { removeDir, tempDir } from "../harness/temp.js";
import { checkout, codeBlocks } from "./code-blocks.js";

const run = promisify(execFile);

/** Every command of README.md runs here, except `npm test`, which runs this file and which CI runs. */
describe("the commands of the README", () => {
  const blocks = codeBlocks("README.md", "sh");
  const start = blocks.findIndex((block) => /npm start$/.test(block.trim()));
  const queries = blocks.filter((block) => block.includes("curl"));
  const commands = blocks.filter((block) => block.startsWith("node dist/"));
  // test/clients/python/test_readme.py runs it, with the example in Python.
  const functions = blocks.filter((block) => block.includes("--functions"));

  const directory = tempDir("readme");
  const root = join(directory, "joust-data");
  const settings = { ...process.env, JOUST_ROOT: root, JOUST_PORT: "0" };
  let server: RunningProcess;
  let url: string;

  beforeAll(async () => {
    for (const name of ["examples", "dist"])
      symlinkSync(join(checkout, name), join(directory, name));
    const started = await startProcess(
      "bash",
      {
        args: ["-c", `exec ${blocks[start]?.replace(/^(\S+=\S+) /, "env $1 ")}`],
        cwd: checkout,
        env: settings,
      },
      (output) => /joust listening on (http:\/\/\S+)/.exec(output)?.[1],
    );
    server = started.process;
    url = started.ready;
  });
  afterAll(async () => {
    await server?.stop();
    removeDir(directory);
  });

  const inShell = (script: string) =>
    run("bash", ["-euc", script.replaceAll("http://127.0.0.1:2333", url)], {
      cwd: directory,
      env: settings,
    });

  it("are all tested here", () => {
    const ciRuns = readFileSync(join(checkout, ".ci", "run"), "utf8");
    expect(ciRuns).toContain("npm test");
    const known = [
      "npm run demo",
      "npm test",
      blocks[start],
      ...queries,
      ...commands,
      ...functions,
    ];
    expect([...blocks].sort()).toEqual([...known].sort());
  });

  it("return the results that the text describes", async () => {
    const [films = "", rest = "", sql = "", view = ""] = queries;
    const { stdout } = await inShell(films);
    expect(stdout).toMatch(/Some Like It Hot[\s\S]*Modern Times[\s\S]*Dr. Strangelove/);
    expect(stdout).not.toContain("Airplane!");

    const counted = await inShell(rest);
    expect(counted.stdout).toMatch(/^3\{/);
    expect(counted.stdout).toContain('"title"');

    const selected = await inShell(sql);
    expect(JSON.parse(selected.stdout).rows).toEqual([{ old: 5, oldest: 1927 }]);

    const viewed = await inShell(view);
    expect(viewed.stdout).toContain('"job_id"');
  });

  it("list the options and create a key", async () => {
    const outputs = await Promise.all(commands.map(inShell));
    const printed = outputs.map(({ stdout }) => stdout).join("\n");
    expect(printed).toContain("--port");
    expect(printed).toMatch(/read key \(shown once\): joust_\S{43}/);
  });

  it("run the demo", async () => {
    const { stdout } = await run("npm", ["run", "--silent", "demo"], { cwd: checkout });
    expect(stdout).toContain("by_vector");
    expect(stdout).toMatch(/nearest to "a PostgreSQL client".*\n.*pg/);
    expect(stdout).toContain("count_rows");
  }, 120_000);
});
