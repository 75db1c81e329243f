import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { installFolder } from "../build/dependencies.mjs";
import { fingerprint, isStamped, stamp } from "../build/fingerprint.mjs";
import { root } from "../build/paths.mjs";
import { describe, nothing, pytestCounts, withExitCode } from "./counts.mjs";
import { vitest } from "./vitest.mjs";

const CLIENTS = join(root, "test", "clients");
const VENV = process.env.JOUST_VENV ?? join(homedir(), ".cache", "joust", "venv");

/** Real clients, unmodified, against the built server: Node's and Python's. */
export async function run() {
  const node = await nodeClients();
  const python = pythonClients();
  console.log(`\nclients (Node): ${describe(node)}`);
  console.log(`clients (Python): ${describe(python)}`);
  return node.failed + python.failed > 0 ? 1 : 0;
}

/** The SDK wants an older apache-arrow than the other tests, so it has a package of its own. */
function nodeClients() {
  const folder = join(CLIENTS, "node");
  installFolder(folder);
  return vitest(["--config", join(folder, "vitest.config.ts")]);
}

function pythonClients() {
  if (!prepareVenv()) {
    console.log("skipped: the Python clients; no python3 with the venv module is installed");
    return { ...nothing, skipped: 1 };
  }
  const pytest = spawnSync(join(VENV, "bin", "python"), ["-m", "pytest", "--capture=no"], {
    cwd: CLIENTS,
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: "1" },
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 64 * 1024 * 1024,
  });
  process.stdout.write(pytest.stdout);
  return withExitCode(pytestCounts(pytest.stdout.toString()), pytest.status);
}

/** A virtual environment outside the checkout, made again when the requirements change. */
function prepareVenv() {
  const wanted = fingerprint(["test/clients/requirements.txt"]);
  const stampFile = join(VENV, ".requirements");
  if (existsSync(VENV) && isStamped(stampFile, wanted)) return true;
  if (spawnSync("python3", ["-m", "venv", VENV], { stdio: "inherit" }).status !== 0) return false;
  const requirements = join(CLIENTS, "requirements.txt");
  const pip = ["-m", "pip", "install", "--quiet", "--requirement", requirements];
  execFileSync(join(VENV, "bin", "python"), pip, { stdio: ["ignore", 2, 2] });
  stamp(stampFile, wanted);
  return true;
}
