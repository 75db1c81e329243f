import { spawnSync } from "node:child_process";
import { createReadStream, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { root } from "../build/paths.mjs";
import { buildWheel, describeWheel } from "../build/wheel.mjs";
import { command } from "./command.mjs";
import { pytestCounts, reportCounts, withExitCode } from "./counts.mjs";

const TESTS = join(root, "test", "packaging", "wheel");

/**
 * `npm run test:wheel`: builds the wheel, installs it by its name from a package index on loopback into a new
 * environment, and tests it there. pip downloads all other packages from PyPI.
 */
export async function run() {
  const directory = mkdtempSync(join(tmpdir(), "joust-wheel-test-"));
  try {
    const wheel = buildWheel(join(directory, "index", "joust-server"));
    console.log(`${basename(wheel)}: ${describeWheel(wheel)}`);
    const python = await install(directory, wheel);
    return reportCounts({ wheel: pytest(python, wheel) });
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Makes an environment with joust-server and the packages of the tests; returns its interpreter. */
async function install(directory, wheel) {
  const index = await serveIndex(join(directory, "index"));
  const venv = join(directory, "venv");
  try {
    await mustRun("python3", ["-m", "venv", venv]);
    const python = join(venv, "bin", "python");
    const started = performance.now();
    const quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    const [, version] = basename(wheel).split("-");
    await mustRun(python, [...quiet, "--extra-index-url", index.url, `joust-server==${version}`]);
    console.log(`pip install joust-server: ${Math.round((performance.now() - started) / 1000)} s`);
    await mustRun(python, [...quiet, "--requirement", join(TESTS, "requirements.txt")]);
    return python;
  } finally {
    index.close();
  }
}

async function mustRun(program, args) {
  const code = await command(program, args);
  if (code !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${code}`);
}

/** Starts a package index for pip: a page with links for each package folder in `folder`. */
function serveIndex(folder) {
  const server = createServer((request, response) => {
    const [, name, file] = decodeURIComponent(request.url).split("/");
    if (!readdirSync(folder).includes(name)) return response.writeHead(404).end();
    const files = readdirSync(join(folder, name));
    if (files.includes(file)) return createReadStream(join(folder, name, file)).pipe(response);
    response.setHeader("Content-Type", "text/html");
    response.end(files.map((entry) => `<a href="/${name}/${entry}">${entry}</a>`).join("\n"));
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const url = `http://127.0.0.1:${server.address().port}/`;
      resolve({ url, close: () => server.close() });
    });
  });
}

function pytest(python, wheel) {
  const cache = ["-p", "no:cacheprovider"];
  const result = spawnSync(
    python,
    ["-m", "pytest", ...cache, "--verbose", "--timeout=120", TESTS],
    {
      cwd: tmpdir(),
      env: { ...process.env, JOUST_WHEEL: wheel, PYTHONDONTWRITEBYTECODE: "1" },
      stdio: ["ignore", "pipe", "inherit"],
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  process.stdout.write(result.stdout);
  return withExitCode(pytestCounts(result.stdout.toString()), result.status);
}
