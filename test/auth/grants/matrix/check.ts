/** Sends the requests of the matrix and compares the answers with what the callers must get. */
import { expect } from "vitest";
import type { Operation } from "../../../../src/api/operation.js";
import type { Answer, Client } from "../../../harness/client.js";
import { expectFailure } from "../../../harness/expect-failure.js";
import type { ActiveCaller } from "./callers.js";
import type { Case, Names } from "./case.js";
import { idOf, needsOf, type Outcome, outcomeOf } from "./outcome.js";
import type { Matrix } from "./setup.js";

/** A method and a path of an operation. */
export interface Route {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly isLancedb: boolean;
}

interface Sent {
  readonly path: string;
  readonly method: string;
  readonly body: object | Uint8Array | undefined;
}

function requestOf(operation: Operation, route: Route, one: Case, names: Names): Sent {
  const id = idOf(operation.id, one, names).join("$");
  const path = route.path
    .replace("{id}", encodeURIComponent(id))
    .replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = one.path?.[name];
      if (value === undefined) throw new Error(`${operation.id} needs the path parameter ${name}`);
      return value;
    });
  const params = new URLSearchParams(one.params?.(names)).toString();
  const body = route.method === "GET" ? undefined : one.body?.(names);
  return { path: params === "" ? path : `${path}?${params}`, method: route.method, body };
}

const send = (client: Client, { path, method, body }: Sent): Promise<Answer> =>
  client.request(path, { method, ...(body !== undefined && { body }) });

const ABSENT = "absent";

/** The same text about an object that does not exist. */
const aboutAbsent = (text: string, { job, transaction }: Names, hidden: string): string =>
  // A message has the beginning of a long name.
  [hidden, job, transaction, transaction.slice(0, 80)].reduce(
    (all, name) => all.replaceAll(name, ABSENT),
    text,
  );

/** The same request for an object that does not exist. */
function twinOf({ path, method, body }: Sent, names: Names, hidden: string): Sent {
  const change = (text: string) => aboutAbsent(text, names, hidden);
  return {
    path: change(path),
    method,
    body:
      body === undefined || body instanceof Uint8Array
        ? body
        : JSON.parse(change(JSON.stringify(body))),
  };
}

/** One request of an operation as every caller. */
export class Check {
  constructor(
    private readonly matrix: Matrix,
    private readonly operation: Operation,
    private readonly route: Route,
    private readonly one: Case,
  ) {}

  /** Returns the kinds of the outcomes. */
  async run(): Promise<ReadonlySet<Outcome["kind"]>> {
    const { matrix, one, operation } = this;
    const names = await matrix.names(one.fresh, matrix.callers);
    const outcomes = matrix.callers.map(
      (caller) => [caller, this.#outcome(caller, names)] as const,
    );
    // They change nothing, so they may run together.
    await Promise.all(
      outcomes.map(([caller, outcome]) => {
        return outcome.kind === "admitted" ? undefined : this.#refused(caller, outcome, names);
      }),
    );
    if (one.fresh) {
      const exists = (await matrix.exists(one.fresh, names)) ?? true;
      expect(exists, `a refused ${operation.id} changed its object`).toBe(true);
    }
    let unused: Names | undefined = names;
    for (const [caller, { kind }] of outcomes) {
      if (kind !== "admitted") continue;
      await this.#admitted(caller, unused ?? (await matrix.names(one.fresh, [caller])));
      unused = undefined;
    }
    return new Set(outcomes.map(([, { kind }]) => kind));
  }

  #outcome(caller: ActiveCaller, names: Names): Outcome {
    const { operation, route, one } = this;
    if (one.role && caller.role === one.role) return { kind: "admitted" };
    // In this dialect it lists the root, which every caller sees.
    const seesRoot = route.isLancedb && operation.id === "ListTables";
    return outcomeOf(seesRoot ? [] : needsOf(operation.id, one, names), caller, names);
  }

  #title(caller: ActiveCaller, sent: Sent, answer: Answer): string {
    const { operation, one } = this;
    const which = one.title ? ` ${one.title}` : "";
    const request = `${sent.method} ${sent.path}`;
    return `${operation.id}${which} as ${caller.name}: ${request}: ${answer.text.slice(0, 300)}`;
  }

  async #admitted(caller: ActiveCaller, names: Names): Promise<void> {
    const { operation, route, one } = this;
    const sent = requestOf(operation, route, one, names);
    const answer = await send(caller.client, sent);
    const { admitted = operation.status ?? 200 } = one;
    const title = this.#title(caller, sent, answer);
    if (typeof admitted === "number") {
      expect(answer.status, title).toBe(admitted);
      return;
    }
    const [status, message] = admitted;
    expect(answer.status, title).toBe(status);
    expect(answer.json.detail, title).toMatch(message);
  }

  async #refused(caller: ActiveCaller, outcome: Outcome, names: Names): Promise<void> {
    const { operation, route, one } = this;
    const sent = requestOf(operation, route, one, names);
    const answer = await send(caller.client, sent);
    const title = this.#title(caller, sent, answer);
    switch (outcome.kind) {
      case "unauthenticated":
        expect(answer.status, title).toBe(401);
        return expectFailure(answer, 401, 16);
      case "denied": {
        expect(answer.status, title).toBe(403);
        // A caller with a role and without grants gets the name of the role that suffices.
        const reason =
          caller.role === "none"
            ? new RegExp(`privileges? .*${outcome.missing.join(".*")}`)
            : /needs (write|admin)/;
        expect(answer.json.detail, title).toMatch(reason);
        return expectFailure(answer, 403, 15);
      }
      case "hidden": {
        // LanceDB's clients take it as success that a table to drop is missing, but not that its namespace is.
        const isDropped =
          route.isLancedb && operation.id === "DropTable" && outcome.name === names.table;
        expect(answer.status, title).toBe(isDropped ? 200 : 404);
        const twin = await send(caller.client, twinOf(sent, names, outcome.name));
        expect(twin.status, title).toBe(answer.status);
        expect(aboutAbsent(answer.text, names, outcome.name), title).toBe(twin.text);
      }
    }
  }
}
