import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fingerprint, isStamped, stamp } from "../../build/fingerprint.mjs";
import { root } from "../../build/paths.mjs";
import { noTests, pytestCounts, withExitCode } from "../counts.mjs";

/** The folder of the tests of the Python clients. */
export const FOLDER = "test/clients/python";
const VENV = process.env.JOUST_VENV ?? join(homedir(), ".cache", "joust", "venv");

/** Tests pylance, the LanceDB SDK and the generated namespace client with pytest. */
export function pythonClients() {
  const python = clientsPython();
  if (python === undefined) {
    console.log("skipped: the Python clients; no python3 with the venv module is installed");
    return { ...noTests, skipped: 1 };
  }
  const pytest = spawnSync(python, ["-m", "pytest", "--capture=no"], {
    cwd: join(root, FOLDER),
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: "1" },
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 64 * 1024 * 1024,
  });
  process.stdout.write(pytest.stdout);
  return withExitCode(pytestCounts(pytest.stdout.toString()), pytest.status);
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
