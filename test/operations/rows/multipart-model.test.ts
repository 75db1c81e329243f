import fc from "fast-check";
import { expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();

type Step =
  | { do: "part"; upload: number; name: string | undefined; rows: number }
  | { do: "complete" | "abort"; upload: number }
  | { do: "insert"; rows: number };

const upload = fc.nat({ max: 2 });
const rows = fc.integer({ min: 1, max: 5 });
const name = fc.constantFrom("a", "b", undefined);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant("part" as const), upload, name, rows }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("complete", "abort"), upload }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("insert" as const), rows }) },
);

/** The expected content of the table: row counts by the first id of each batch. */
class Model {
  readonly table = new Map<number, number>();
  readonly uploads = [0, 1, 2].map(() => ({
    parts: new Map<string, [number, number]>(),
    state: "open",
  }));

  /** Whether the server must accept the step. */
  take(step: Step, from: number): boolean {
    if (step.do === "insert") {
      this.table.set(from, step.rows);
      return true;
    }
    const target = this.uploads[step.upload];
    if (!target) throw new Error("no such upload");
    if (step.do === "part") {
      if (target.state === "open") target.parts.set(step.name ?? `own ${from}`, [from, step.rows]);
      return target.state === "open";
    }
    if (step.do === "abort") {
      if (target.state === "open") target.state = "aborted";
      return true;
    }
    if (target.state === "done") return true;
    if (target.state === "aborted" || target.parts.size === 0) return false;
    for (const [first, count] of target.parts.values()) this.table.set(first, count);
    target.state = "done";
    return true;
  }

  ids(): number[] {
    const all = [...this.table].flatMap(([from, count]) =>
      Array.from({ length: count }, (_, n) => from + n),
    );
    return all.sort((a, b) => a - b);
  }
}

it("multipart writes in any order leave exactly the rows of the completed ones", async () => {
  const { client } = joust;
  let tables = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), async (steps) => {
      const id = `t${tables++}`;
      await client.createTable(id, items(1, { from: 1_000_000 }));
      const path = `/v1/table/${id}`;
      const model = new Model();
      model.table.set(1_000_000, 1);
      const begun = await Promise.all(
        model.uploads.map(
          async () => (await client.ok(`${path}/multipart_write/create`)).upload_id,
        ),
      );
      for (const [at, step] of steps.entries()) {
        const from = at * 10;
        const upload_id = step.do === "insert" ? {} : { upload_id: begun[step.upload] };
        const part = step.do === "part" && step.name ? { upload_part_id: step.name } : {};
        const reply =
          step.do === "part" || step.do === "insert"
            ? await client.post(`${path}/insert/`, items(step.rows, { from }), {
                ...upload_id,
                ...part,
              })
            : await client.post(`${path}/multipart_write/${step.do}`, undefined, { ...upload_id });
        expect([step, reply.status]).toEqual([step, model.take(step, from) ? 200 : 400]);
      }
      const query = { k: 1000, vector: {}, columns: { column_names: ["id"] } };
      const result = [...(await client.query(id, query))].map((row) => Number(row.id));
      expect(result.sort((a, b) => a - b)).toEqual(model.ids());
    }),
    { numRuns: 30 },
  );
}, 120_000);
