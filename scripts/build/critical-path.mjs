/**
 * The duration of the longest chain of crates in which each waits for the previous one: the lower bound for any
 * number of cores. A library waits for the metadata of its dependencies (the end of their frontend) and for complete
 * macros. A program waits for complete dependencies.
 *
 * @param {ReturnType<typeof import("./timings.mjs").unitsOf>} units
 * @param {any} metadata the output of `cargo metadata --format-version 1`
 */
export function criticalPath(units, { packages, resolve }) {
  const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));
  const byId = new Map(packages.map((crate) => [crate.id, crate]));
  const times = timesByCrate(units);
  const known = new Map();

  /** The earliest end of the metadata and of the whole of a crate, each with its chain. */
  function earliest(id) {
    const cached = known.get(id);
    if (cached !== undefined) return cached;
    const { name, version, targets } = byId.get(id);
    const { script, library, frontend } = times.get(`${name} ${version}`) ?? NOTHING;
    const whole = targets.some(({ kind }) => kind.includes("cdylib") || kind.includes("bin"));
    let before = START;
    let beforeScript = START;
    for (const { pkg, dep_kinds: kinds } of nodes.get(id).deps) {
      const other = earliest(pkg);
      const { targets: others } = byId.get(pkg);
      const isMacro = others.some(({ kind }) => kind.includes("proc-macro"));
      if (kinds.some(({ kind }) => kind === null)) {
        before = later(before, whole || isMacro ? other.end : other.metadata);
      }
      if (kinds.some(({ kind }) => kind === "build")) beforeScript = later(beforeScript, other.end);
    }
    if (script > 0) before = later(before, after(beforeScript, script, `${name} (build script)`));
    const result = { metadata: after(before, frontend, name), end: after(before, library, name) };
    known.set(id, result);
    return result;
  }

  return resolve.nodes.map(({ id }) => earliest(id).end).reduce(later, START);
}

const NOTHING = { script: 0, library: 0, frontend: 0 };
const START = { seconds: 0, names: [] };
const later = (a, b) => (b.seconds > a.seconds ? b : a);
const after = ({ seconds, names }, more, name) => ({
  seconds: seconds + more,
  names: [...names, name],
});

/** Seconds of each crate for its build script, its library, and the frontend of the library. */
function timesByCrate(units) {
  const times = new Map();
  for (const { name, version, target, duration, sections } of units) {
    const key = `${name} ${version}`;
    const parts = times.get(key) ?? { ...NOTHING };
    times.set(key, parts);
    if (target.includes("build-script")) parts.script += duration;
    else {
      const [, section] = sections?.find(([part]) => part === "frontend") ?? [];
      parts.library = Math.max(parts.library, duration);
      parts.frontend = Math.max(parts.frontend, section?.end ?? duration);
    }
  }
  return times;
}
