import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Catalog, TableRecord } from "../../src/catalog/catalog.js";
import type { MaintenanceSettings } from "../../src/config/config.js";
import type { Engine, Table } from "../../src/engine/index.js";
import { ErrorCode, JoustError } from "../../src/foundation/errors.js";
import type { JobRecord, JobRequest, JobState } from "../../src/jobs/jobs.js";
import { AutoRefresh } from "../../src/maintenance/auto-refresh.js";
import { checkRefresh, type RefreshState } from "../../src/maintenance/due-refresh.js";

const settings = { on: true, autoRefreshMs: 60_000 } as MaintenanceSettings;
const record = { key: "t", location: "t.lance", properties: {} } as unknown as TableRecord;
const missing = new JoustError(ErrorCode.TransactionNotFound, "no such job");

/** A table with one column that refreshes itself, and the jobs of a server that runs none. */
class Fixture {
  readonly queued: JobRequest[] = [];
  /** The job of the last refresh; undefined: it is deleted. */
  last: Partial<JobRecord> | undefined;
  /** The versions in which the inputs of the column have changed. */
  changes: number[] = [];
  version = 1;
  intervalSeconds = 10;

  readonly jobs = {
    describe: async () => {
      if (!this.last) throw missing;
      return { createdMillis: 0, updatedMillis: 0, ...this.last } as JobRecord;
    },
    enqueue: async (request: JobRequest) => {
      this.queued.push(request);
      return { id: `job ${this.queued.length}` } as JobRecord;
    },
  };
  readonly table = {
    autoRefreshes: async () => [{ column: "c", intervalSeconds: this.intervalSeconds }],
    changesSince: async ({ published }: { published: number }) => ({
      hasChanged: this.changes.some((version) => version > published),
      version: this.version,
    }),
  } as unknown as Table;
  readonly dependencies = {
    catalog: { tableByKey: async () => record } as unknown as Catalog,
    engine: { table: () => this.table } as unknown as Engine,
    jobs: this.jobs,
    storageOptions: {},
    settings,
  };

  check(state: RefreshState) {
    return checkRefresh(this.dependencies, record, this.table, "c", state);
  }

  get specs(): unknown[] {
    return this.queued.map(({ spec }) => JSON.parse(spec));
  }
}

describe("the check of a column that refreshes itself", () => {
  it("queues a job for all rows the first time", async () => {
    const fixture = new Fixture();
    expect(await fixture.check({})).toEqual({ state: { job: "job 1" }, pauseMs: 0 });
    expect(fixture.specs).toEqual([{ column: "c" }]);
  });

  it.each<JobState>(["QUEUED", "RUNNING"])("waits for a job that is %s", async (state) => {
    const fixture = new Fixture();
    fixture.last = { state };
    expect((await fixture.check({ job: "j" })).state).toEqual({ job: "j" });
    expect(fixture.queued).toEqual([]);
  });

  it("waits for a paused job", async () => {
    const fixture = new Fixture();
    fixture.last = { state: "QUEUED", paused: true };
    expect((await fixture.check({ job: "j" })).state).toEqual({ job: "j" });
    expect(fixture.queued).toEqual([]);
  });

  it("remembers the versions of a job that is done, and queues one for later changes only", async () => {
    const fixture = new Fixture();
    fixture.version = 9;
    fixture.last = { state: "DONE", result: { source_version: 3, published_version: 4 } };
    const { state } = await fixture.check({ job: "j", failures: 2 });
    // Nothing has changed since: the next comparison is with the newest version.
    expect(state).toEqual({ computed: 9, published: 9 });
    fixture.changes = [10];
    expect((await fixture.check(state)).state).toEqual({
      computed: 9,
      published: 9,
      job: "job 1",
    });
    expect(fixture.specs).toEqual([{ column: "c", changed_since: { computed: 9, published: 9 } }]);
  });

  it.each<JobState | "deleted">(["FAILED", "CANCELLED", "deleted"])(
    "tries again after a job that is %s, and counts it",
    async (end) => {
      const fixture = new Fixture();
      fixture.changes = [5];
      fixture.last = end === "deleted" ? undefined : { state: end };
      const known = { computed: 3, published: 4 };
      const first = await fixture.check({ ...known, job: "j" });
      expect(first.state).toEqual({ ...known, failures: 1, job: "job 1" });
      expect((await fixture.check(first.state)).state).toEqual({
        ...known,
        failures: 2,
        job: "job 2",
      });
      fixture.last = { state: "DONE", result: { source_version: 6 } };
      expect((await fixture.check(first.state)).state).not.toHaveProperty("failures");
    },
  );

  it("pauses as long as the last job took", async () => {
    const fixture = new Fixture();
    const result = { source_version: 1 };
    fixture.last = { state: "DONE", result, createdMillis: 1_000, updatedMillis: 91_000 };
    expect((await fixture.check({ job: "j" })).pauseMs).toBe(90_000);
  });

  it("leaves a table with maintenance off as it is", async () => {
    const fixture = new Fixture();
    fixture.dependencies.settings = { ...settings, on: false };
    expect(await fixture.check({})).toEqual({ state: {}, pauseMs: 0 });
    expect(fixture.queued).toEqual([]);
  });
});

describe("the time to the next check", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Seconds to the next check, after each check; `end`: what is true before each. */
  async function pauses(fixture: Fixture, checks: number, end: (check: number) => void) {
    const due = { table: "t", column: "c", state: "" };
    let isDue = true;
    const found: number[] = [];
    const autoRefreshes = {
      declare: async () => {},
      put: async () => {},
      remove: async () => {},
      takeDue: async () => (isDue ? [{ ...due }] : []),
      checked: async (_: unknown, state: string, next: number) => {
        due.state = state;
        found.push(next / 1_000);
        isDue = false;
      },
    };
    const log = pino({ level: "silent" });
    const refresh = new AutoRefresh({ ...fixture.dependencies, autoRefreshes, log });
    for (let check = 0; check < checks; check++) {
      end(check);
      isDue = true;
      await vi.advanceTimersByTimeAsync(1_000);
    }
    await refresh.stop();
    return found;
  }

  it("doubles with each job that fails, up to 64 times the interval, and is the interval after a success", async () => {
    const fixture = new Fixture();
    fixture.changes = [5];
    const found = await pauses(fixture, 10, (check) => {
      fixture.last =
        check < 9 ? { state: "FAILED" } : { state: "DONE", result: { source_version: 6 } };
    });
    expect(found).toEqual([10, 20, 40, 80, 160, 320, 640, 640, 640, 10]);
  });

  it("doubles with each check that fails", async () => {
    const fixture = new Fixture();
    const { table } = fixture;
    const { changesSince } = table;
    fixture.last = { state: "DONE", result: { source_version: 1 } };
    const found = await pauses(fixture, 5, (check) => {
      table.changesSince =
        check === 2 || check === 3 ? () => Promise.reject(new Error("no such file")) : changesSince;
    });
    expect(found).toEqual([10, 10, 20, 40, 10]);
  });
});
