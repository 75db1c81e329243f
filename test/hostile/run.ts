/** Sends generated requests to a server, and checks the server after every 10,000 of them. */
import { setTimeout as sleep } from "node:timers/promises";
import { tableFromIPC } from "apache-arrow";
import { items } from "../harness/arrow.js";
import type { Server } from "../harness/server.js";
import { exchangeAlone, type Reply, SharedConnection } from "./connection.js";
import { Draw } from "./draw.js";
import { Fixture } from "./fixture.js";
import { isRead, SPACE } from "./known.js";
import { faultLines, judge } from "./oracle.js";
import { Report } from "./report.js";
import { type HostileRequest, hostileRequest, type Target } from "./requests.js";

const CHECK_EVERY = 10_000;
const FIXTURE_EVERY = 50_000;
/** Requests of an operation after which its objects are made again: if one succeeded, and in any case. */
const REBUILD_CHANGED = 40;
const REBUILD_ANY = 400;
const LANES = 16;
const PROBE = "probe$rows";
const PROBE_ROWS = 50;

export interface RunOptions {
  /** The name of the server's setting. */
  readonly name: string;
  readonly seed: number;
  readonly requests: number;
  /** The index of the first request. */
  readonly from?: number;
  readonly log: (line: string) => void;
}

export interface RunResult {
  readonly report: Report;
  readonly failures: readonly string[];
  /** Resident memory at the start and at each check, bytes. */
  readonly memory: readonly number[];
}

export async function runHostile(server: Server, options: RunOptions): Promise<RunResult> {
  return new HostileRun(server, options).run();
}

/** The objects of one operation since they were made. */
interface Objects {
  requests: number;
  isChanged: boolean;
}

class HostileRun {
  readonly #report = new Report();
  readonly #failures: string[] = [];
  readonly #memory: number[] = [];
  readonly #fixture: Fixture;
  readonly #target: Target;
  readonly #objects = new Map<string, Objects>();
  readonly #began = performance.now();
  #faults = 0;
  #succeeded = 0;
  #exited = false;

  constructor(
    private readonly server: Server,
    private readonly options: RunOptions,
  ) {
    this.#fixture = new Fixture(server.client, server.root);
    const { host } = new URL(server.url);
    this.#target = { host, key: server.key, known: this.#fixture.known };
    server.exited.finally(() => {
      this.#exited = true;
    });
  }

  async run(): Promise<RunResult> {
    const { client } = this.server;
    const { requests, from = 0 } = this.options;
    await client.createNamespace("probe");
    await client.createTable(PROBE, items(PROBE_ROWS));
    await this.#make();
    this.#memory.push(this.server.rss());
    for (let start = from; start < from + requests; start += CHECK_EVERY) {
      if (start > from && (start - from) % FIXTURE_EVERY === 0) await this.#make();
      await this.#send(start, Math.min(start + CHECK_EVERY, from + requests));
      await this.#check(start);
      if (this.#exited || this.#failures.length > 200) break;
    }
    return { report: this.#report, failures: this.#failures, memory: this.#memory };
  }

  /** Makes the fixture. Queries and jobs of earlier requests may still run, so limits may refuse it for a while. */
  async #make(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#fixture.make();
      } catch (error) {
        if (attempt === 5) throw error;
        this.options.log(`the fixture failed and is made again: ${error}`);
        await sleep(1_000);
      }
    }
  }

  /** The requests with the indexes from `start` to before `end`. */
  async #send(start: number, end: number): Promise<void> {
    let next = start;
    const { hostname } = new URL(this.server.url);
    const lane = async (): Promise<void> => {
      const connection = new SharedConnection(this.server.port, hostname);
      while (next < end && !this.#exited) {
        const index = next++;
        const request = hostileRequest(new Draw(this.options.seed, index), this.#target);
        const began = performance.now();
        const replies = await this.#exchange(connection, request);
        this.#report.took(request, index, performance.now() - began);
        for (const reply of replies) this.#record(index, request, reply);
        await this.#rebuildAfter(request);
      }
      connection.close();
    };
    await Promise.all(Array.from({ length: LANES }, lane));
  }

  async #exchange(connection: SharedConnection, request: HostileRequest): Promise<Reply[]> {
    this.#report.sent++;
    if (request.connection === "shared") return [await connection.exchange(request.bytes)];
    const { hostname } = new URL(this.server.url);
    return exchangeAlone(
      { port: this.server.port, hostname },
      request.bytes,
      request.connection === "cut",
    );
  }

  #record(index: number, request: HostileRequest, reply: Reply): void {
    this.#report.add(request, reply.outcome);
    const verdict = judge(request, reply, this.server.root);
    if (verdict === "fine") {
      if (Number(reply.outcome) < 300) this.#changed(request);
      return;
    }
    if (typeof verdict === "object") {
      const { exceptions } = this.#report;
      exceptions.set(verdict.exception, (exceptions.get(verdict.exception) ?? 0) + 1);
      return;
    }
    const { kind, place } = request;
    const { seed, name } = this.options;
    this.#fail(
      `request ${index} (${kind}, ${place.operation.id}): ${reply.outcome} ${reply.body}\n` +
        `    ${JSON.stringify(request.bytes.toString("latin1")).slice(0, 1_500)}\n` +
        `    repeat it: npm run test:hostile -- --seed ${seed} --server ${name} --at ${index}`,
    );
  }

  #changed({ place }: HostileRequest): void {
    this.#objectsOf(place.operation.id).isChanged = true;
  }

  async #rebuildAfter({ place }: HostileRequest): Promise<void> {
    if (isRead(place)) return;
    const { id } = place.operation;
    const state = this.#objectsOf(id);
    if (++state.requests < (state.isChanged ? REBUILD_CHANGED : REBUILD_ANY)) return;
    this.#objects.delete(id);
    await this.#fixture.rebuild(id).catch(() => undefined);
  }

  #objectsOf(id: string): Objects {
    const state = this.#objects.get(id) ?? { requests: 0, isChanged: false };
    this.#objects.set(id, state);
    return state;
  }

  /** The server lives, answers the probe with the right rows, and has logged no fault. */
  async #check(start: number): Promise<void> {
    const where = `after the requests from ${start}`;
    if (this.#exited) {
      this.#fail(`${where}: the server has ended:\n${this.server.output().slice(-3_000)}`);
      return;
    }
    await this.#probe().catch((error: Error) => this.#fail(`${where}: ${error.message}`));
    const faults = faultLines(this.server.output());
    for (const line of faults.slice(this.#faults)) this.#fail(`${where}: ${line.slice(0, 1_500)}`);
    this.#faults = faults.length;
    this.#memory.push(this.server.rss());
    const { sent } = this.#report;
    const rate = Math.round(sent / ((performance.now() - this.#began) / 1_000));
    const mib = Math.round(this.server.rss() / 2 ** 20);
    const succeeded = this.#report.succeeded - this.#succeeded;
    this.#succeeded = this.#report.succeeded;
    this.options.log(
      `${sent} requests, ${rate}/s, ${succeeded} succeeded since the last check, ${mib} MiB, ` +
        `${this.#failures.length} failures`,
    );
    await this.#keepDeep();
  }

  /** Without the shared objects the requests get 404 and reach no code behind it. */
  async #keepDeep(): Promise<void> {
    const path = `/v1/table/${SPACE}%24items/exists`;
    const { status } = await this.server.client.post(path);
    if (status !== 404) return;
    this.options.log("a request removed the shared objects: they are made again");
    await this.#make();
  }

  async #probe(): Promise<void> {
    const path = `/v1/table/${encodeURIComponent(PROBE)}/query`;
    const query = () => this.server.client.post(path, { k: 100, vector: {}, columns: ["id"] });
    let reply = await query();
    for (let attempt = 1; reply.status === 429 && attempt < 10; attempt++) {
      await sleep(1_000);
      reply = await query();
    }
    if (reply.status !== 200) throw new Error(`the probe got ${reply.status}: ${reply.text}`);
    const ids = [...(tableFromIPC(reply.bytes).getChild("id") ?? [])].map(Number);
    const expected = Array.from({ length: PROBE_ROWS }, (_, at) => at);
    if (ids.sort((a, b) => a - b).join() !== expected.join()) {
      throw new Error(`the probe got the rows ${ids.join()}`);
    }
  }

  #fail(what: string): void {
    this.#failures.push(what);
    this.options.log(what);
  }
}
