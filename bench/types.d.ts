/** The types that the parts of the benchmark share. */

export type Distance = "l2" | "cosine" | "dot";

/** A filter on rows: the conjunction of the members that are present. */
export interface Predicate {
  label?: string;
  /** A range: the first bound is inclusive, the second is exclusive. */
  number?: readonly [number, number];
  /** No row matches, and each costs so many nested SHA-512 digests. */
  digests?: number;
}

export interface VectorQuery {
  kind: "vector";
  /** All vectors are one request. */
  vectors: readonly (readonly number[])[];
  k: number;
  columns: readonly string[];
  nprobes?: number;
  refine?: number;
  ef?: number;
  filter?: Predicate;
  /** Search without an index. */
  flat?: boolean;
}

/** One request of a client, independent of the contender. */
export type Operation =
  | VectorQuery
  | { kind: "text"; text: string; k: number; columns: readonly string[] }
  | (Omit<VectorQuery, "kind"> & { kind: "hybrid"; text: string })
  | { kind: "filter"; filter: Predicate; limit: number; columns: readonly string[] }
  | { kind: "points"; ids: readonly number[]; columns: readonly string[] }
  | { kind: "count"; filter?: Predicate }
  | { kind: "delete"; filter: Predicate }
  | { kind: "describe" }
  /** `expected`: the values of each row; empty if only the number of rows is judged. */
  | { kind: "sql"; text: string; expected: readonly (readonly (string | number)[])[] }
  /** `rows` is a complete Arrow IPC stream, the content of the file `source`. */
  | { kind: "insert"; rows: Uint8Array; source: string };

export interface Answer {
  rows: number;
  /** The ids of the rows in their order; empty if the answer does not contain them. */
  ids: readonly number[];
  /** The sum of the ids of a large result. */
  sum?: number;
  /** The values of each row of a statement. */
  values?: readonly (readonly (string | number)[])[];
}

/** Rows in the layout that all sources produce. */
export interface Rows {
  /** `rows * dimensions` numbers. */
  vectors: Float32Array;
  texts: readonly string[];
  labels: readonly string[];
  /** Integers of at most 2^53. */
  numbers: Float64Array;
}

/** A source of rows. Every call of `batches` returns the same rows. */
export interface Source {
  title: string;
  dimensions: number;
  distance: Distance;
  batches(): AsyncIterable<Rows>;
  /** Query vectors of the source; default: rows of the table. */
  queries?: readonly (readonly number[])[];
}

/** A table with the parameters of operations on it and the correct answers. */
export interface Dataset {
  title: string;
  rows: number;
  dimensions: number;
  distance: Distance;
  /** The table as a file with an Arrow IPC stream, and its size. */
  file: string;
  bytes: number;
  /** The first ten rows, for inserts. */
  sample: { file: string; bytes: Uint8Array };
  queries: readonly (readonly number[])[];
  texts: readonly string[];
  /** The label of about 5 % of the rows. */
  label: string;
  predicates: readonly Predicate[];
  /** The number of rows that match. */
  count(predicate: Predicate): number;
  matches(id: number, predicate: Predicate): boolean;
  /** The nearest rows of each of the first queries, nearest first; `labelled`: of the rows with `label`. */
  truth: {
    readonly all: readonly (readonly number[])[];
    readonly labelled: readonly (readonly number[])[];
  };
  /** The tables of the SQL scenarios, if the run has one. */
  relational?: Relational;
}

/** The tables of the SQL scenarios. */
export type RelationalTable = "bench_rows" | "bench_groups";

export interface Relational {
  rows: number;
  /** Files with Arrow IPC streams. */
  files: Readonly<Record<RelationalTable, string>>;
  textOf(id: number): string;
  /** The number of rows and the sum of `number` for each label, and for each region of the groups. */
  byLabel: readonly (readonly [string, number, number])[];
  byRegion: readonly (readonly [string, number, number])[];
}

/** The first three have the same rows and different vector indexes. */
export type TableName = "bench" | "bench_graph" | "bench_ivf" | RelationalTable;

export interface Judgement {
  /** Mean number of rows of an answer. */
  rows: number;
  /** Share of the true nearest rows that the answers contain. */
  recall?: number;
}

export interface Scenario {
  key: string;
  title: string;
  group:
    | "vector"
    | "text"
    | "rows"
    | "beside"
    | "writes"
    | "whole"
    | "sql"
    | "functions"
    | "views"
    | "clones";
  /** `load`: requests under load. Others: one timed operation a round. */
  measure:
    | "load"
    | "ingest"
    | "download"
    | "result"
    | "cold"
    | "first"
    | "second"
    | "function"
    | "view"
    | "clone";
  /** The process loads the table before the first request. */
  prewarmed?: boolean;
  table: TableName;
  /** Another table that its statements read. */
  joined?: TableName;
  /** Numbers of concurrent clients; default: the option of the run. */
  clients?: readonly number[];
  quick: boolean;
  operations(dataset: Dataset): Operation[];
  /** Other clients, which send one request again and again during the measurement. It is not measured. */
  beside?: { clients: number; operation: Operation };
  /** `answers[i]` belongs to `operations[i]`. @throws if an answer is wrong */
  judge(answers: readonly Answer[], operations: readonly Operation[], dataset: Dataset): Judgement;
}

/** The measurements of a load generator; latencies in milliseconds. */
export interface LoadResult {
  rate: number;
  requests: number;
  p50: number;
  p95: number;
  p99: number;
  failures: number;
  /** Processor time of the load generator, if it is a process of its own. */
  loaderCpuSeconds?: number;
}

/** The folder of a contender and the parameters of its preparation. */
export interface Workspace {
  /** The folder for its files. */
  folder: string;
  dataset: Dataset;
  /** The folders of the contenders that are prepared already, by key. */
  others: ReadonlyMap<string, string>;
  /** Records the duration of a build step. */
  recordStep(step: string, seconds: number): void;
  /** The number of cores that it may use; default: all. */
  cores?: number | undefined;
  /** The tables that the scenarios need. */
  tables: readonly TableName[];
}

export interface RunningContender {
  pid: number;
  /** The reason why it does not support a scenario; undefined if it does. */
  checkSupported(scenario: Scenario): string | undefined;
  answer(table: string, operation: Operation): Promise<Answer>;
  load(
    table: string,
    operations: readonly Operation[],
    clients: number,
    seconds: number,
  ): Promise<LoadResult>;
  /** Creates a table from a file with an Arrow IPC stream. */
  create(table: string, file: string): Promise<void>;
  /** Removes a table and its files. */
  drop?(table: string): Promise<void>;
  /** Reads every row and column of a table and discards them. */
  download(table: string): Promise<{ bytes?: number }>;
  /** Reads a large result and discards it. If `checked`, it has the number of rows and the sum of their ids. */
  result?(
    table: string,
    operation: Operation,
    options: { checked: boolean },
  ): Promise<{ bytes: number; rows?: number; sum?: number }>;
  /** Adds a column that the function of `bench/programs/embed.py` computes, without values. */
  declareFunction?(table: string, column: string): Promise<void>;
  /** Computes the values of such a column. Returns the number of rows. */
  fillColumn?(table: string, column: string): Promise<number>;
  /** Changes 1 % of the rows of a table, which its view reads. */
  changeRows?(table: string): Promise<void>;
  /** Refreshes the view of a table. Returns the number of rows that it has then. */
  refreshView?(table: string): Promise<number>;
  /** Makes a table from the newest version of another one. */
  cloneTable?(table: string, clone: string): Promise<void>;
  stop(): Promise<void>;
}

export interface StartOptions {
  /** Wait until the tables are loaded. */
  prewarmed?: boolean;
}

export interface Contender {
  key: string;
  title: string;
  /** `--quick` includes it by default. */
  quick?: boolean;
  /** The scenarios that it runs, or their groups: those without SQL by default. */
  scenarios?: "search" | "sql" | "all" | readonly Scenario["group"][];
  /** It can load tables before the first request. */
  prewarms?: boolean;
  /** The key of the contender whose tables it copies. */
  copiesTablesOf?: string;
  /** Installs missing packages if `install` allows it. Returns the reason why it cannot run; undefined if it can. */
  checkAvailable(options: { install: boolean }): Promise<string | undefined>;
  /** Builds its tables and records the duration of each step. */
  prepare(workspace: Workspace): Promise<void>;
  start(workspace: Workspace, options?: StartOptions): Promise<RunningContender>;
}

/** The medians of the rounds for one scenario, contender and number of clients. */
export interface Result extends Judgement {
  scenario: string;
  title: string;
  group: string;
  contender: string;
  clients: number;
  rounds: number;
  /** Requests per second. */
  rate: number;
  /** `rate` of the slowest and of the fastest round. */
  rates: readonly [number, number];
  p50: number;
  p95: number;
  p99: number;
  /** Processor time of all processes of the contender; absent on systems without /proc. */
  cpuSecondsPer1000?: number;
  residentBytes?: number;
  /** Share of one core that its main thread used; in a Node server, the event loop. */
  mainThreadCpu?: number;
  /** Share of one core that the load generator used. */
  loaderCpu?: number;
  failures: number;
  /** The duration in a timed scenario. */
  seconds?: number;
  bytes?: number;
}

/** A contender or scenario that was not measured. */
export interface Gap {
  contender: string;
  scenario?: string;
  reason: string;
}

export interface BuildStep {
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
  dataset: {
    title: string;
    rows: number;
    dimensions: number;
    distance: string;
    bytes: number;
    /** Rows of the table of the SQL scenarios, if the run has one. */
    sqlRows?: number;
  };
  contenders: readonly { key: string; title: string }[];
  results: readonly Result[];
  gaps: readonly Gap[];
  built: readonly BuildStep[];
  /** Size of the tables on disk after the index builds. */
  disk: readonly { contender: string; bytes: number }[];
}

/** The same scenarios for growing tables or growing numbers of cores. */
export interface SeriesReport {
  when: string;
  grows: "rows" | "cores";
  /** In ascending order of `at`. */
  steps: readonly { at: number; report: Report }[];
}
