import { parseArgs } from "node:util";

/** @typedef {ReturnType<typeof parseArguments>} Options */

const QUICK = { rows: 3_000, sqlRows: 50_000, dimensions: 64, clients: [8], seconds: 1, rounds: 1 };
const FULL = {
  rows: undefined,
  sqlRows: 1_000_000,
  dimensions: 128,
  clients: [1, 8],
  seconds: 3,
  rounds: 3,
};
const SCALE_ROWS = [100_000, 1_000_000];

export const usage = `npm run bench -- [SCENARIO...] [OPTION...]

  --quick                 few rows, one round, installed contenders only: at most 3 minutes
  --list                  list the scenarios and the contenders
  --contenders=A,B        measure only these; default: all
  --data=FILE             rows: an Arrow IPC stream (.arrows) or a file of ann-benchmarks (.hdf5)
  --rows=N                rows of the table; default: 100000, or all rows of the file;
                          with --quick 3000
  --sql-rows=N            rows of the table of the SQL scenarios; default: 1000000; with --quick 50000
  --dimensions=N          dimensions of generated vectors; default: 128
  --seed=N                seed of generated data; default: 1
  --clients=N,M           concurrent clients; default: 1,8
  --seconds=N             duration of each measurement; default: 3
  --rounds=N              measurements of each contender, one a round; default: 3
  --scale[=N,M]           repeat for tables of N and M rows; default: 100000,1000000
  --micro                 count the calls from JavaScript into the engine, and their cost
  --caches                compare the engine's cache with quick_cache and moka
  --cores=N,M             repeat with N and M cores for each contender (needs taskset)
  --no-install            skip contenders that are not installed
  --out=FOLDER            folder for the results; default: bench/results`;

/**
 * @param {readonly string[]} args
 * @throws if an argument is unknown or out of range
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
      caches: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
      "no-install": { type: "boolean", default: false },
      contenders: { type: "string" },
      data: { type: "string" },
      rows: { type: "string" },
      "sql-rows": { type: "string" },
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
  const number = (name, least = 1) => {
    const text = values[name];
    return text === undefined ? undefined : integer(name, text, least);
  };
  const list = (name) => values[name]?.split(",").map((text) => integer(name, text, 1));
  const scale = list("scale");
  const cores = list("cores");
  if (scale && cores) throw new Error("use --scale or --cores, not both");
  if (scale && values.data !== undefined) {
    throw new Error("--scale generates its rows: use --scale or --data, not both");
  }
  return {
    quick: values.quick,
    list: values.list,
    micro: values.micro,
    caches: values.caches,
    help: values.help,
    install: !values["no-install"] && !values.quick,
    scenarios: positionals,
    contenders: values.contenders?.split(","),
    data: values.data,
    rows: number("rows") ?? defaults.rows,
    sqlRows: number("sql-rows") ?? defaults.sqlRows,
    dimensions: number("dimensions") ?? (scale ? 64 : defaults.dimensions),
    seed: number("seed", 0) ?? 1,
    clients: list("clients") ?? defaults.clients,
    seconds: number("seconds") ?? defaults.seconds,
    rounds: number("rounds") ?? defaults.rounds,
    scale,
    cores,
    out: values.out,
  };
}

function integer(name, text, least) {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < least || text.trim() === "") {
    throw new Error(
      `--${name} must be an integer of at least ${least}, not ${JSON.stringify(text)}`,
    );
  }
  return value;
}

/**
 * The members of `known` with the wanted keys; all members if `wanted` is empty.
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
