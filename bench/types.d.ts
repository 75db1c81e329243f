/** The words in which the parts of the benchmark speak with each other. */

export type Distance = "l2" | "cosine" | "dot";

/** What a filter asks of a row; members that are absent ask nothing. */
export interface Condition {
  label?: string;
  /** Least number, inclusive, and greatest, exclusive. */
  number?: readonly [number, number];
}

export interface VectorAsk {
  kind: "vector";
  /** Several are one request. */
  vectors: readonly (readonly number[])[];
  k: number;
  columns: readonly string[];
  nprobes?: number;
  refine?: number;
  ef?: number;
  filter?: Condition;
  /** Compare with every row. */
  flat?: boolean;
}

/** What a client wants, in nobody's dialect. */
export type Ask =
  | VectorAsk
  | { kind: "text"; text: string; k: number; columns: readonly string[] }
  | (Omit<VectorAsk, "kind"> & { kind: "hybrid"; text: string })
  | { kind: "filter"; filter: Condition; limit: number; columns: readonly string[] }
  | { kind: "points"; ids: readonly number[]; columns: readonly string[] }
  | { kind: "count"; filter?: Condition }
  | { kind: "describe" }
  /** `rows` is a whole Arrow IPC stream, that of the file `source`. */
  | { kind: "insert"; rows: Uint8Array; source: string };

export interface Answer {
  rows: number;
  /** Of the rows, in their order, where the answer names them. */
  ids: readonly number[];
}

/** One row of every source: what differs between data sets has been taken out. */
export interface Rows {
  /** `rows * dimensions` numbers. */
  vectors: Float32Array;
  texts: readonly string[];
  labels: readonly string[];
  /** Integers of at most 2^53. */
  numbers: Float64Array;
}

/** Where rows come from. Every call of `batches` gives the same ones. */
export interface Source {
  title: string;
  dimensions: number;
  distance: Distance;
  batches(): AsyncIterable<Rows>;
  /** Vectors to search for, where the source brings its own; else rows of the table are taken. */
  queries?: readonly (readonly number[])[];
}

/** What can be asked of a table and what the right answers are. */
export interface Dataset {
  title: string;
  rows: number;
  dimensions: number;
  distance: Distance;
  /** The whole table as a file that holds an Arrow IPC stream, and its size. */
  file: string;
  bytes: number;
  /** The first ten rows, for inserts. */
  sample: { file: string; bytes: Uint8Array };
  queries: readonly (readonly number[])[];
  texts: readonly string[];
  /** Holds for about a twentieth of the rows. */
  label: string;
  conditions: readonly Condition[];
  /** How many rows of the table a condition holds for. */
  count(condition: Condition): number;
  matches(id: number, condition: Condition): boolean;
  /** For each of the first queries its nearest rows, nearest first. */
  truth: {
    readonly all: readonly (readonly number[])[];
    readonly labelled: readonly (readonly number[])[];
  };
}

/** The tables that every contender has: the same rows, another vector index. */
export type TableName = "bench" | "bench_graph" | "bench_ivf";

export interface Judgement {
  /** Rows of an answer, on average. */
  rows: number;
  /** Share of the truly nearest rows that the answers name. */
  recall?: number;
}

export interface Scenario {
  key: string;
  title: string;
  group: "vector" | "text" | "rows" | "writes" | "whole";
  /** Measured under load, or timed: once a round, from beginning to end. */
  measure: "load" | "ingest" | "download" | "cold" | "first" | "second";
  /** Of a process that has loaded the table before it is asked. */
  prewarmed?: boolean;
  table: TableName;
  /** Clients that ask at the same time; default: what the run says. */
  clients?: readonly number[];
  quick: boolean;
  asks(dataset: Dataset): Ask[];
  /** @throws when an answer is wrong; `answers[i]` is that to `asks[i]` */
  judge(answers: readonly Answer[], asks: readonly Ask[], dataset: Dataset): Judgement;
}

/** What a load tool saw; latencies in milliseconds. */
export interface Load {
  rate: number;
  requests: number;
  p50: number;
  p95: number;
  p99: number;
  failures: number;
  /** What making the load cost, where it was made outside the contender. */
  loaderCpuSeconds?: number;
}

/** Where a contender keeps its files and what it is to be given. */
export interface Place {
  /** Its own folder. */
  folder: string;
  dataset: Dataset;
  /** The folders of those that were prepared before, by key. */
  others: ReadonlyMap<string, string>;
  /** Tells how long a step took. */
  built(step: string, seconds: number): void;
  /** Cores that it may use; default: all. */
  cores?: number | undefined;
  /** Vector indexes that the scenarios need. */
  tables: readonly TableName[];
}

export interface Running {
  pid: number;
  /** Why it can't be asked that, if it can't. */
  refuses(scenario: Scenario): string | undefined;
  answer(table: string, ask: Ask): Promise<Answer>;
  load(table: string, asks: readonly Ask[], clients: number, seconds: number): Promise<Load>;
  /** A new table out of a file with an Arrow IPC stream. */
  create(table: string, file: string): Promise<void>;
  /** Removes a table and its files. */
  drop?(table: string): Promise<void>;
  /** Every row and column of a table, thrown away as it comes. */
  download(table: string): Promise<{ bytes?: number }>;
  stop(): Promise<void>;
}

export interface StartOptions {
  /** Load the tables, and wait until that is done. */
  prewarmed?: boolean;
}

export interface Contender {
  key: string;
  title: string;
  /** Measured by `--quick` too, without being named. */
  quick?: boolean;
  /** It can load tables before they are asked. */
  prewarms?: boolean;
  /** The contender whose tables it copies. */
  needs?: string;
  /** Why it can't be had, if it can't; installs what is missing where that is allowed. */
  missing(options: { install: boolean }): Promise<string | undefined>;
  /** Its tables, and how long each step took. */
  prepare(place: Place): Promise<void>;
  start(place: Place, options?: StartOptions): Promise<Running>;
}

/** Of one scenario, contender and number of clients; middle values of the rounds. */
export interface Result extends Judgement {
  scenario: string;
  title: string;
  group: string;
  contender: string;
  clients: number;
  rounds: number;
  /** Requests a second. */
  rate: number;
  /** The slowest and the fastest round. */
  rates: readonly [number, number];
  p50: number;
  p95: number;
  p99: number;
  /** Of all processes of the contender; absent where the system doesn't tell. */
  cpuSecondsPer1000?: number;
  residentBytes?: number;
  /** Share of one core that its first thread took: of a Node server, the event loop. */
  mainThreadCpu?: number;
  /** Share of one core that making the load took. */
  loaderCpu?: number;
  failures: number;
  /** Timed scenarios: from beginning to end. */
  seconds?: number;
  bytes?: number;
}

/** What was not measured, and why. */
export interface Gap {
  contender: string;
  scenario?: string;
  reason: string;
}

export interface Built {
  contender: string;
  step: string;
  seconds: number;
}

export interface Report {
  when: string;
  seconds: number;
  machine: Record<string, string | number>;
  options: Record<string, unknown>;
  loader: string;
  dataset: { title: string; rows: number; dimensions: number; distance: string; bytes: number };
  contenders: readonly { key: string; title: string }[];
  results: readonly Result[];
  gaps: readonly Gap[];
  built: readonly Built[];
  /** What the tables take on disk once their indexes are built. */
  disk: readonly { contender: string; bytes: number }[];
}

/** The same scenarios again and again, while something grows. */
export interface SeriesReport {
  when: string;
  grows: "rows" | "cores";
  /** Least first. */
  steps: readonly { at: number; report: Report }[];
}
