import { execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fingerprint, isStamped, stamp } from "../../build/fingerprint.mjs";
import { root } from "../../build/paths.mjs";
import { noTests, pytestCounts, withExitCode } from "../counts.mjs";

/** The folder of the tests of the Python clients. */
export const FOLDER = "test/clients/python";
/** The folder of the tests with a Ray cluster. */
const RAY_FOLDER = "test/clients/ray";
/** The virtual environment of these tests; others have its name with a suffix. */
export const VENV = process.env.JOUST_VENV ?? join(homedir(), ".cache", "joust", "venv");

/** Older LanceDB SDKs that users still have. Only the tests of the SDK run with them. */
const OLDER = ["0.38", "0.39"];

/** Tests pylance, the LanceDB SDK and the generated namespace client with pytest. */
export async function pythonClients() {
  const python = clientsPython();
  if (python === undefined) {
    console.log("skipped: the Python clients; no python3 with the venv module is installed");
    return { Python: { ...noTests, skipped: 1 } };
  }
  const ofSdk = readdirSync(join(root, FOLDER)).filter((name) =>
    /^test_lancedb_.*\.py$/.test(name),
  );
  // At the same time: a suite mostly waits for its server.
  const suites = [
    pytest("Python", python, []),
    ...OLDER.map((version) => {
      const older = pythonWith(`${FOLDER}/requirements-${version}.txt`, `${VENV}-${version}`);
      return pytest(`Python with lancedb ${version}`, older, ofSdk);
    }),
  ];
  return Object.fromEntries(await Promise.all(suites));
}

/**
 * Kills servers and functions during jobs, so many times: a part of the same tests, with more runs.
 *
 * @param {string} runs
 */
export async function killedJobs(runs) {
  const python = clientsPython();
  if (python === undefined) throw new Error("the test needs python3 with the venv module");
  process.env.JOUST_TEST_COMPUTE_RUNS = runs;
  return Object.fromEntries([await pytest("killed jobs", python, ["test_killed_jobs.py"])]);
}

/**
 * Runs jobs on a Ray cluster of one node, and kills its parts, so many times.
 *
 * @param {string} runs
 */
export async function rayJobs(runs) {
  const python = pythonWith(`${RAY_FOLDER}/requirements.txt`, `${VENV}-ray`);
  if (python === undefined) throw new Error("the test needs python3 with the venv module");
  process.env.JOUST_TEST_COMPUTE_RUNS = runs;
  return Object.fromEntries([await pytest("jobs on Ray", python, [], RAY_FOLDER)]);
}

/** Runs one suite and prints its output at its end. Resolves with its name and its counts. */
function pytest(name, python, files, folder = FOLDER) {
  const child = spawn(python, ["-m", "pytest", "--capture=no", ...files], {
    cwd: join(root, folder),
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: "1" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    output += chunk;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      process.stdout.write(output);
      resolve([name, withExitCode(pytestCounts(output), code)]);
    });
  });
}

/** The interpreter with the packages of these tests; undefined as for {@link pythonWith}. */
export function clientsPython() {
  return pythonWith(`${FOLDER}/requirements.txt`, VENV);
}

/**
 * The interpreter of the virtual environment `venv` with the packages of the file `requirements`. A change of the
 * file updates the environment. Returns undefined if python3 or its venv module is missing.
 */
export function pythonWith(requirements, venv) {
  const python = join(venv, "bin", "python");
  const wanted = fingerprint([requirements]);
  const stampFile = join(venv, ".requirements");
  if (existsSync(venv) && isStamped(stampFile, wanted)) return python;
  if (spawnSync("python3", ["-m", "venv", venv], { stdio: "inherit" }).status !== 0)
    return undefined;
  const pip = ["-m", "pip", "install", "--quiet", "--requirement", join(root, requirements)];
  execFileSync(python, pip, { stdio: ["ignore", 2, 2] });
  stamp(stampFile, wanted);
  return python;
}
