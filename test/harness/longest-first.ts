import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Slow test files: started last, one of them would run alone. */
const long = [
  "durability/crash/every-change",
  "api/errors/parameters",
  "api/errors/any-request",
  "api/errors/errors",
  "jobs/crash",
  "jobs/index-build",
  "cluster/two-servers",
  "cluster/histories/histories",
  "memory/budget",
  "http/streams/streams",
  "api/listings/pages",
  "durability/failing-disk",
  "hostile/hostile",
  "http/uploads",
  "cli/serve",
  "maintenance/maintenance",
  "bench/run",
];

/** Starts with the slow files; the others follow in vitest's own order. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const result = long.findIndex((name) => moduleId.endsWith(`test/${name}.test.ts`));
      return result < 0 ? long.length : result;
    };
    return (await super.sort(files)).sort((a, b) => place(a) - place(b));
  }
}
