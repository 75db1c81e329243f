import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fingerprint, isStamped, stamp } from "../../build/fingerprint.mjs";
import { root } from "../../build/paths.mjs";
import { nothing, pytestCounts, withExitCode } from "../counts.mjs";

const REQUIREMENTS = "test/clients/python/requirements.txt";
const VENV = process.env.JOUST_VENV ?? join(homedir(), ".cache", "joust", "venv");

/** pylance, the LanceDB SDK and the generated namespace client, driven by pytest. */
export function pythonClients() {
  if (!prepareVenv()) {
    console.log("skipped: the Python clients; no python3 with the venv module is installed");
    return { ...nothing, skipped: 1 };
  }
  const pytest = spawnSync(join(VENV, "bin", "python"), ["-m", "pytest", "--capture=no"], {
    cwd: join(root, "test", "clients", "python"),
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: "1" },
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 64 * 1024 * 1024,
  });
  process.stdout.write(pytest.stdout);
  return withExitCode(pytestCounts(pytest.stdout.toString()), pytest.status);
}

/** A virtual environment outside the checkout, made again when the requirements change. */
function prepareVenv() {
  const wanted = fingerprint([REQUIREMENTS]);
  const stampFile = join(VENV, ".requirements");
  if (existsSync(VENV) && isStamped(stampFile, wanted)) return true;
  if (spawnSync("python3", ["-m", "venv", VENV], { stdio: "inherit" }).status !== 0) return false;
  const pip = ["-m", "pip", "install", "--quiet", "--requirement", join(root, REQUIREMENTS)];
  execFileSync(join(VENV, "bin", "python"), pip, { stdio: ["ignore", 2, 2] });
  stamp(stampFile, wanted);
  return true;
}
