import { parseArgs } from "node:util";

/** @typedef {ReturnType<typeof parseArguments>} Options */

const QUICK = { rows: 3_000, dimensions: 64, clients: [8], seconds: 1, rounds: 1 };
const FULL = { rows: undefined, dimensions: 128, clients: [1, 8], seconds: 3, rounds: 3 };
const SCALE_ROWS = [100_000, 1_000_000];

export const usage = `npm run bench -- [SCENARIO...] [OPTION...]

  --quick                 few rows, one round, what is installed: at most 3 minutes
  --list                  the scenarios and the contenders
  --contenders=A,B        only those; default: all
  --data=FILE             an Arrow IPC stream (.arrows) or a file of ann-benchmarks (.hdf5)
  --rows=N                rows of the table; default: 100000, or all of the file;
                          with --quick 3000 of either
  --dimensions=N          of generated vectors; default: 128
  --seed=N                of generated data; default: 1
  --clients=N,M           clients that ask at the same time; default: 1,8
  --seconds=N             of each measurement; default: 3
  --rounds=N              measurements of each, in turn with the others; default: 3
  --scale[=N,M]           tables of growing size; default: 100000,1000000 rows
  --micro                 what crosses between JavaScript and the engine, and what it costs
  --cores=N,M             the same with so many cores for each contender (needs taskset)
  --no-install            leave out contenders that are not installed
  --out=FOLDER            where the results go; default: bench/results`;

/**
 * @param {readonly string[]} args
 * @throws when one is unknown or out of its range
 */
export function parseArguments(args) {
  const named = args.map((arg) => (arg === "--scale" ? `--scale=${SCALE_ROWS.join(",")}` : arg));
  const { values, positionals } = parseArgs({
    args: named,
    allowPositionals: true,
    options: {
      quick: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      micro: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
      "no-install": { type: "boolean", default: false },
      contenders: { type: "string" },
      data: { type: "string" },
      rows: { type: "string" },
      dimensions: { type: "string" },
      seed: { type: "string" },
      clients: { type: "string" },
      seconds: { type: "string" },
      rounds: { type: "string" },
      scale: { type: "string" },
      cores: { type: "string" },
      out: { type: "string" },
    },
  });
  const defaults = values.quick ? QUICK : FULL;
  const one = (name, least = 1) => {
    const text = values[name];
    return text === undefined ? undefined : integer(name, text, least);
  };
  const list = (name) => values[name]?.split(",").map((text) => integer(name, text, 1));
  const scale = list("scale");
  const cores = list("cores");
  if (scale && cores) throw new Error("one series at a time: leave --scale or --cores out");
  if (scale && values.data !== undefined) {
    throw new Error("a scale series is of generated rows: leave --data or --scale out");
  }
  return {
    quick: values.quick,
    list: values.list,
    micro: values.micro,
    help: values.help,
    install: !values["no-install"] && !values.quick,
    scenarios: positionals,
    contenders: values.contenders?.split(","),
    data: values.data,
    rows: one("rows") ?? defaults.rows,
    dimensions: one("dimensions") ?? (scale ? 64 : defaults.dimensions),
    seed: one("seed", 0) ?? 1,
    clients: list("clients") ?? defaults.clients,
    seconds: one("seconds") ?? defaults.seconds,
    rounds: one("rounds") ?? defaults.rounds,
    scale,
    cores,
    out: values.out,
  };
}

function integer(name, text, least) {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < least || text.trim() === "") {
    throw new Error(`--${name} is a whole number from ${least} on, not ${JSON.stringify(text)}`);
  }
  return value;
}

/**
 * Those of `known` that are named; all where none is.
 *
 * @template {{ key: string }} Thing
 * @param {string} what
 * @param {readonly Thing[]} known
 * @param {readonly string[] | undefined} wanted
 */
export function choose(what, known, wanted) {
  if (!wanted || wanted.length === 0) return known;
  const unknown = wanted.find((key) => !known.some((thing) => thing.key === key));
  if (unknown !== undefined) {
    const keys = known.map(({ key }) => key).join(", ");
    throw new Error(`there is no ${what} ${unknown}; there are ${keys}`);
  }
  return known.filter(({ key }) => wanted.includes(key));
}
