/**
 * `npm run test:lancedb -- CHECKOUT [python|node] [TESTS...]`: runs the test suites of LanceDB against joust.
 *
 * CHECKOUT is a checkout of LanceDB. Each suite runs twice with the published SDK: on local LanceDB, and with a
 * joust server in place of every local database. It counts the tests that pass on local LanceDB, open a database,
 * and are not in test/clients/lancedb/excluded.json. TESTS are arguments of pytest (paths below
 * python/python/tests) and jest (patterns).
 */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { startDatabases } from "../../test/clients/lancedb/databases.mjs";
import { installFolder } from "../build/dependencies.mjs";
import { root } from "../build/paths.mjs";
import { pythonWith } from "./clients/python.mjs";
import { printCounts } from "./counts.mjs";

const FOLDER = "test/clients/lancedb";
const VENV = process.env.JOUST_SUITE_VENV ?? join(homedir(), ".cache", "joust", "venv-lancedb");
/** The program of the server. Another checkout can be set for a comparison. */
const SERVER = process.env.JOUST_SUITE_SERVER ?? join(root, "dist", "cli", "main.js");

/** Tests of a mock server, an object store or a service on the Internet. */
const IGNORED = {
  python: ["test_remote_db.py", "test_s3.py", "test_embeddings_slow.py"],
  node: ["remote.test", "s3_integration.test"],
};

const suites = { python: pythonSuite, node: nodeSuite };

export async function run([path, ...args]) {
  if (path === undefined || !existsSync(join(path, "nodejs", "__test__"))) {
    throw new Error("pass the path of a LanceDB checkout: npm run test:lancedb -- PATH");
  }
  const named = Object.keys(suites).filter((name) => args.includes(name));
  const languages = named.length > 0 ? named : Object.keys(suites);
  const tests = args.filter((arg) => !(arg in suites));
  let failed = 0;
  for (const language of languages) {
    const counts = await compare(language, resolve(path), tests);
    printCounts(`LanceDB's suite (${language})`, counts);
    failed += counts.failed;
  }
  return failed > 0 ? 1 : 0;
}

/** Runs one suite on local LanceDB and on joust. */
async function compare(language, checkout, tests) {
  const files = mkdtempSync(join(tmpdir(), "joust-suites-"));
  const databases = await startDatabases(SERVER);
  try {
    const suite = (name, env) => suites[language]({ checkout, tests, files, name, env });
    const local = await suite("local", {});
    const remote = await suite("joust", { JOUST_SUITE_DATABASES: databases.url });
    return count(local, remote, excluded(language));
  } finally {
    await databases.stop();
    rmSync(files, { recursive: true, force: true });
  }
}

/** Counts results, which have the name of the test as key, and `outcome`, `connected` and `message`. */
function count(local, remote, isExcluded) {
  const counts = { passed: 0, failed: 0, skipped: 0, failures: [] };
  for (const [name, { outcome, connected }] of Object.entries(local)) {
    if (outcome !== "passed" || !connected) continue;
    const result = remote[name] ?? { outcome: "failed", message: "the test did not run" };
    if (isExcluded(name)) counts.skipped += 1;
    else if (result.outcome === "passed") counts.passed += 1;
    else {
      counts.failed += 1;
      counts.failures.push(`${name}: ${result.message}`);
    }
  }
  return counts;
}

/** Whether the list of excluded tests contains a test; `*` in a pattern matches any text. */
function excluded(language) {
  const reasons = JSON.parse(readFileSync(join(root, FOLDER, "excluded.json"), "utf8"))[language];
  const patterns = Object.values(reasons)
    .flat()
    .map((pattern) => new RegExp(`^${pattern.split("*").map(literally).join(".*")}$`));
  return (name) => patterns.some((pattern) => pattern.test(name));
}

/** Escapes a text for a regular expression. */
const literally = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

async function pythonSuite({ checkout, tests, files, name, env }) {
  const python = pythonWith(`${FOLDER}/python/requirements.txt`, VENV);
  if (python === undefined) throw new Error("no python3 with the venv module is installed");
  const report = join(files, `${name}.json`);
  const folder = join(checkout, "python", "python", "tests");
  const paths = tests.length > 0 ? tests.map((test) => join(folder, test)) : [folder];
  const args = ["-m", "pytest", "-p", "joust_lancedb", "-p", "no:cacheprovider", "--quiet"];
  args.push("--tb=no", "--no-summary", "--timeout=180", "--continue-on-collection-errors");
  args.push("-m", "not slow and not s3_test", `--basetemp=${join(files, name)}`, ...paths);
  for (const file of IGNORED.python) args.push(`--ignore=${join(folder, file)}`);
  const pythonPath = join(root, FOLDER, "python");
  args.push("-c", join(checkout, "python", "pyproject.toml"));
  // Some tests open databases below the working directory.
  const cwd = join(files, `${name}-cwd`);
  mkdirSync(cwd);
  await inFolder(cwd, python, args, {
    ...env,
    PYTHONPATH: pythonPath,
    PYTHONDONTWRITEBYTECODE: "1",
    JOUST_SUITE_REPORT: report,
  });
  return JSON.parse(readFileSync(report, "utf8"));
}

async function nodeSuite({ checkout, tests, files, name, env }) {
  const folder = join(root, FOLDER, "node");
  installFolder(folder);
  const report = join(files, `${name}.json`);
  const connects = join(files, `${name}.connects`);
  const jest = join(folder, "node_modules", "jest", "bin", "jest.js");
  const args = [jest, "--config", join(folder, "jest.config.cjs"), "--json", "--silent"];
  args.push("--outputFile", report, "--maxWorkers=2", ...tests);
  for (const file of IGNORED.node) args.push(`--testPathIgnorePatterns=/${file}`);
  await inFolder(folder, process.execPath, args, {
    ...env,
    JOUST_SUITE_CHECKOUT: checkout,
    JOUST_SUITE_CONNECTS: connects,
  });
  return jestResults(report, connects);
}

/** The report of jest in the format of the pytest plugin. Tests with the same name get numbers. */
function jestResults(report, connects) {
  const lines = existsSync(connects) ? readFileSync(connects, "utf8").trim().split("\n") : [];
  const connected = new Set(lines);
  const results = {};
  for (const { name: file, assertionResults } of JSON.parse(readFileSync(report, "utf8"))
    .testResults) {
    const seen = new Map();
    for (const { fullName, status, failureMessages } of assertionResults) {
      const number = (seen.get(fullName) ?? 0) + 1;
      seen.set(fullName, number);
      const name = `${basename(file)}: ${fullName}${number > 1 ? ` #${number}` : ""}`;
      results[name] = {
        outcome: status,
        connected: connected.has(JSON.stringify([file, fullName])),
        message: failureMessages?.[0]?.trim().split("\n", 1)[0],
      };
    }
  }
  return results;
}

/** Runs a program and ignores its exit code, because its report has the failures. */
function inFolder(cwd, program, args, env) {
  return new Promise((resolve, reject) => {
    const options = { cwd, env: { ...process.env, ...env }, stdio: ["ignore", 2, 2] };
    spawn(program, args, options).once("error", reject).once("close", resolve);
  });
}
