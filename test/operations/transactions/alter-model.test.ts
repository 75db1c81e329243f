import fc from "fast-check";
import { expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const seed = Number(process.env.TEST_SEED ?? Date.now() % 1_000_000);

type Action =
  | { kind: "set"; key: string; value: string; mode: string | undefined }
  | { kind: "unset"; key: string; mode: string | undefined }
  | { kind: "status"; status: string };

interface Record {
  status: string;
  properties: { [key: string]: string };
}

/** A word as clients may write it: in any case, with or without underscores. */
const spelled = (word: string): fc.Arbitrary<string> =>
  fc.constantFrom(word, word.toLowerCase(), word.toUpperCase());
const key = fc.constantFrom("a", "b", "__proto__", "constructor", "ü");
const mode = (...words: string[]) => fc.option(fc.oneof(...words.map(spelled)), { nil: undefined });

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("set" as const),
      key,
      value: fc.string(),
      mode: mode("Overwrite", "Skip", "Fail"),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("unset" as const), key, mode: mode("Skip", "Fail") }),
  },
  // The transaction has ended: only its current status can be set.
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("status" as const),
      status: fc.oneof(spelled("Succeeded"), spelled("Canceled"), spelled("Running")),
    }),
  },
);

const sent = (one: Action): object => {
  if (one.kind === "status") return { setStatusAction: { status: one.status } };
  const { kind, key, mode } = one;
  if (kind === "unset") return { unsetPropertyAction: { key, ...(mode && { mode }) } };
  return { setPropertyAction: { key, value: one.value, ...(mode && { mode }) } };
};

/** The specified result of the actions; undefined if one of them must fail. */
function applied({ status, properties }: Record, actions: readonly Action[]): Record | undefined {
  const all = new Map(Object.entries(properties));
  for (const one of actions) {
    if (one.kind === "status") {
      if (one.status.toLowerCase() !== status.toLowerCase()) return undefined;
      continue;
    }
    const how = one.mode?.toLowerCase() ?? (one.kind === "set" ? "overwrite" : "skip");
    const isSet = all.has(one.key);
    if (how === "fail" && isSet === (one.kind === "set")) return undefined;
    if (one.kind === "unset") all.delete(one.key);
    else if (how !== "skip" || !isSet) all.set(one.key, one.value);
  }
  return { status, properties: Object.fromEntries(all) };
}

it(`an alteration applies all of its actions or none (TEST_SEED=${seed})`, async () => {
  const { client } = joust;
  const { transaction_id: id } = await client.createTable("t", items(1));
  const describe = (): Promise<Record> => client.ok(`/v1/transaction/${id}/describe`);
  let model = await describe();
  const outcomes = new Set<number>();
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 6 }), async (actions) => {
      const expected = applied(model, actions);
      const body = { actions: actions.map(sent) };
      const answer = await client.post(`/v1/transaction/${id}/alter`, body);
      outcomes.add(answer.status);
      expect([answer.status < 300, answer.text]).toEqual([expected !== undefined, answer.text]);
      if (expected !== undefined) {
        model = expected;
        expect(answer.json).toEqual(model);
      }
      expect(await describe()).toEqual(model);
    }),
    { seed, numRuns: 200 },
  );
  expect([...outcomes].sort()).toEqual([200, 400, 409]);
});

it("concurrent alterations see each other completely or not at all", async () => {
  const { client } = joust;
  const { transaction_id: id } = await client.createTable("together", items(1));
  // Each alteration sets its own key, but only if the shared key of its turn is free.
  const turns = Array.from({ length: 20 }, (_, turn) => turn);
  const answers = await Promise.all(
    turns.flatMap((turn) =>
      ["x", "y"].map((who) =>
        client.post(`/v1/transaction/${id}/alter`, {
          actions: [
            { setPropertyAction: { key: `${who}-${turn}`, value: "began" } },
            { setPropertyAction: { key: `turn-${turn}`, value: who, mode: "Fail" } },
          ],
        }),
      ),
    ),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(turns.length);
  const { properties } = await client.ok(`/v1/transaction/${id}/describe`);
  for (const turn of turns) {
    const winner = properties[`turn-${turn}`];
    const loser = winner === "x" ? "y" : "x";
    expect([properties[`${winner}-${turn}`], properties[`${loser}-${turn}`]]).toEqual([
      "began",
      undefined,
    ]);
  }
});
