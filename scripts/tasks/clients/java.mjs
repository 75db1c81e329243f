import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { root } from "../../build/paths.mjs";
import { noTests, surefireCounts, withExitCode } from "../counts.mjs";
import { withServer } from "./server.mjs";

const PROJECT = join(root, "test", "clients", "java");
const MINUTE = 60_000;

/** Tests the generated `lance-namespace` client for Java with JUnit. */
export async function javaClients() {
  const reason = missingProgram() ?? fetchAndCompile();
  if (reason) {
    console.log(`skipped: the Java client; ${reason}`);
    return { Java: { ...noTests, skipped: 1 } };
  }
  return withServer((environment) => {
    // Offline, because all packages are present: an unreachable network cannot delay the tests.
    const tests = maven(["--offline", "surefire:test"], 5 * MINUTE, environment);
    process.stdout.write(tests.stdout);
    return { Java: withExitCode(surefireCounts(tests.stdout), tests.status) };
  });
}

function missingProgram() {
  const programs = { java: ["-version"], mvn: ["--version"] };
  for (const [name, args] of Object.entries(programs)) {
    if (spawnSync(name, args, { stdio: "ignore" }).status !== 0) return `${name} is not installed`;
  }
}

/**
 * Downloads the packages and compiles the tests.
 *
 * @returns {string | undefined} the reason why the network prevented it
 * @throws Error if the tests do not compile or a package does not exist
 */
function fetchAndCompile() {
  const task = ["-DskipTests", "test"];
  if (maven(["--offline", ...task], 5 * MINUTE).status === 0) return;
  const { status, stdout, error } = maven(task, 10 * MINUTE);
  if (status === 0) return;
  if (error?.code === "ETIMEDOUT") return "its packages did not arrive within 10 minutes";
  if (/Could not transfer artifact|Unknown host|Connection refused/.test(stdout)) {
    return "its packages could not be fetched";
  }
  process.stdout.write(stdout);
  throw new Error("the Java client tests do not compile");
}

function maven(args, timeout, environment = {}) {
  return spawnSync(
    "mvn",
    ["--batch-mode", "--no-transfer-progress", "-Dstyle.color=never", ...args],
    {
      cwd: PROJECT,
      env: { ...process.env, ...environment },
      stdio: ["ignore", "pipe", "inherit"],
      encoding: "utf8",
      maxBuffer: 64 * 1024 * 1024,
      timeout,
    },
  );
}
