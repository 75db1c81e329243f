/**
 * How long the longest chain of crates takes in which each waits for the one before: no number of cores beats it.
 * A library waits for what the compiler tells of its dependencies (their frontend), a program and a macro for all
 * of them.
 *
 * @param {ReturnType<typeof import("./timings.mjs").unitsOf>} units
 * @param {any} metadata what `cargo metadata --format-version 1` prints
 */
export function criticalPath(units, { packages, resolve }) {
  const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));
  const byId = new Map(packages.map((crate) => [crate.id, crate]));
  const times = timesByCrate(units);
  const known = new Map();

  /** When the parts of a crate can be done, with the chain that leads there. */
  function done(id) {
    const found = known.get(id);
    if (found !== undefined) return found;
    const { name, version, targets } = byId.get(id);
    const { script, library, frontend } = times.get(`${name} ${version}`) ?? NOTHING;
    const whole = targets.some(({ kind }) => kind.includes("cdylib") || kind.includes("bin"));
    let before = START;
    let beforeScript = START;
    for (const { pkg, dep_kinds: kinds } of nodes.get(id).deps) {
      const other = done(pkg);
      const { targets: others } = byId.get(pkg);
      const isMacro = others.some(({ kind }) => kind.includes("proc-macro"));
      if (kinds.some(({ kind }) => kind === null)) {
        before = later(before, whole || isMacro ? other.end : other.told);
      }
      if (kinds.some(({ kind }) => kind === "build")) beforeScript = later(beforeScript, other.end);
    }
    if (script > 0) before = later(before, after(beforeScript, script, `${name} (build script)`));
    const result = { told: after(before, frontend, name), end: after(before, library, name) };
    known.set(id, result);
    return result;
  }

  return resolve.nodes.map(({ id }) => done(id).end).reduce(later, START);
}

const NOTHING = { script: 0, library: 0, frontend: 0 };
const START = { seconds: 0, names: [] };
const later = (a, b) => (b.seconds > a.seconds ? b : a);
const after = ({ seconds, names }, more, name) => ({
  seconds: seconds + more,
  names: [...names, name],
});

/** Seconds of the parts of each crate: its build script, its library, the library's frontend. */
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
