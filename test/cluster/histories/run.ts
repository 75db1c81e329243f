import { items } from "../../harness/arrow.js";
import type { Answer, Client } from "../../harness/client.js";
import { check, type Operation } from "./checker.js";
import { Random } from "./random.js";
import { type AnyModel, type Output, type Step, type Subject, subjects } from "./subjects.js";

/** Concurrent clients per kind of object, and requests per client. */
const CLIENTS = 4;
const REQUESTS = 12;

interface Recorded extends Operation<unknown, Output> {
  readonly object: string;
}

/** The result of a history. */
export interface History {
  /** A description of each part that is not linearizable. */
  readonly violations: string[];
  /** Responses that report an internal error. */
  readonly failures: string[];
  /** Requests without a response. */
  readonly unanswered: number;
}

/** Creates what the histories need, once per root. */
export async function prepare(client: Client): Promise<void> {
  for (const subject of subjects) await subject.prepare(client);
}

/**
 * Runs seeded clients on all kinds of objects at once and checks the history of each object.
 * `servers`: servers of one catalog; each request is sent to any of them. The same seed sends the same
 * requests; the servers determine the order in which they take effect.
 */
export async function runHistory(
  seed: number,
  servers: readonly Client[],
  name = `h${seed}`,
): Promise<History> {
  for (const id of ["metadata", "versions", "rows"]) {
    await (servers[0] as Client).createTable(`${id}-${name}`, items(1));
  }
  const recorded = new Map<Subject, Recorded[]>(subjects.map((subject) => [subject, []]));
  const failures: string[] = [];
  let unanswered = 0;
  const clients = subjects.flatMap((subject, kind) =>
    Array.from({ length: CLIENTS }, async (_, number) => {
      const random = new Random(seed * 1_000 + kind * 100 + number);
      for (let request = 0; request < REQUESTS; request++) {
        const step = subject.step(random, name);
        const server = random.of(servers);
        const sent = await timed(step, server);
        if (sent === "not sent") {
          unanswered++;
          continue;
        }
        const { answer, begun, ended } = sent;
        if (answer === undefined) unanswered++;
        else if (answer.status >= 500) failures.push(`${answer.status} ${answer.text}`);
        for (const { object, input, read } of step.about) {
          // The work may be done although the response reports a failure.
          const output = answer === undefined || answer.status >= 500 ? undefined : read(answer);
          if (answer && answer.status < 500 && output === undefined) {
            failures.push(`${JSON.stringify(input)} of ${object}: ${answer.status} ${answer.text}`);
          }
          const one = { object, input, begun, ended, ...(output !== undefined && { output }) };
          recorded.get(subject)?.push(one);
        }
      }
    }),
  );
  await Promise.all(clients);
  const violations = subjects.flatMap((subject) =>
    subject.objects(name).flatMap((object) => {
      const own = (recorded.get(subject) ?? []).filter((one) => one.object === object);
      return violation(`${subject.name} ${object}`, subject.model, own);
    }),
  );
  return { violations, failures, unanswered };
}

interface Timed {
  /** Absent: the connection broke, so the outcome is unknown. */
  readonly answer: Answer | undefined;
  readonly begun: number;
  readonly ended: number;
}

async function timed(step: Step, server: Client): Promise<Timed | "not sent"> {
  const begun = performance.now();
  try {
    const answer = await step.send(server);
    return { answer, begun, ended: performance.now() };
  } catch (error) {
    const { cause } = error as { cause?: { code?: unknown } };
    // No server listens.
    if (cause?.code === "ECONNREFUSED") return "not sent";
    return { answer: undefined, begun, ended: performance.now() };
  }
}

function violation(what: string, model: AnyModel, history: readonly Recorded[]): string[] {
  const { linearizable, order } = check(model, history);
  if (linearizable) return [];
  const places = new Map(order.map((one, place) => [one, place + 1]));
  const lines = history
    .toSorted((a, b) => a.begun - b.begun)
    .map((one) => {
      const { input, output, begun, ended } = one;
      const time = `${begun.toFixed(2)} to ${ended.toFixed(2)}`;
      return `  ${places.get(one) ?? "-"}. ${time} ${JSON.stringify(input)}: ${JSON.stringify(output)}`;
    });
  return [`${what} is not linearizable; the longest order that explains it:\n${lines.join("\n")}`];
}
