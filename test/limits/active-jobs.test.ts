import { describe, expect, it } from "vitest";
import { ActiveJobs } from "../../src/limits/active-jobs.js";

/** Jobs that are active until `ended` has them. */
function newJobs() {
  const ended = new Set<string>();
  let asked = 0;
  const jobs = new ActiveJobs(async (job) => {
    asked += 1;
    return !ended.has(job);
  });
  const reserve = async (...limits: [name: string, limit: number][]) => {
    const reservation = await jobs.reserve(limits.map(([name, limit]) => ({ name, limit })));
    return "ticket" in reservation ? reservation.ticket : reservation.refused;
  };
  return { ended, jobs, reserve, asked: () => asked };
}

describe("active jobs", () => {
  it("count from the reservation until the job has ended", async () => {
    const { ended, jobs, reserve } = newJobs();
    const first = (await reserve(["a", 2])) as string;
    const second = (await reserve(["a", 2])) as string;
    expect(await reserve(["a", 2])).toBe(0);
    jobs.end(first, "job 1");
    expect(await reserve(["a", 2])).toBe(0);
    jobs.end(second, undefined);
    jobs.end((await reserve(["a", 2])) as string, "job 2");
    expect(await reserve(["a", 2])).toBe(0);
    ended.add("job 1");
    expect(await reserve(["a", 2])).toMatch(/^ticket/);
    expect(await reserve(["a", 2])).toBe(0);
  });

  it("are reserved for all subjects or for none", async () => {
    const { jobs, reserve } = newJobs();
    jobs.end((await reserve(["b", 1])) as string, "job 1");
    expect(await reserve(["a", 1], ["b", 1])).toBe(1);
    expect(await reserve(["a", 1])).toMatch(/^ticket/);
  });

  it("count once if equal requests share a job", async () => {
    const { jobs, reserve } = newJobs();
    for (let n = 0; n < 5; n++) jobs.end((await reserve(["a", 2])) as string, "job 1");
    expect(await reserve(["a", 2])).toMatch(/^ticket/);
  });

  it("never exceed the limit when requests arrive together", async () => {
    const { jobs, reserve } = newJobs();
    jobs.end((await reserve(["a", 5])) as string, "job 1");
    const results = await Promise.all(Array.from({ length: 50 }, () => reserve(["a", 5])));
    expect(results.filter((result) => typeof result === "string")).toHaveLength(4);
  });

  it("are looked up only when the limit is reached", async () => {
    const { jobs, reserve, asked } = newJobs();
    for (let n = 0; n < 5; n++) jobs.end((await reserve(["a", 5])) as string, `job ${n}`);
    expect(asked()).toBe(0);
    await reserve(["a", 5]);
    expect(asked()).toBe(5);
  });

  it("may not exist at all with the limit 0", async () => {
    const { reserve } = newJobs();
    expect(await reserve(["a", 0])).toBe(0);
  });
});
