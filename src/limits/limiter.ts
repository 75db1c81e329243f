import { decodePath, encodePath, isBelow } from "../catalog/path.js";
import { AddressBudget } from "./address-budget.js";
import type { LimitMemory } from "./limit-memory.js";
import type { LimitOwner } from "./limit-owner.js";
import {
  type LimitedCaller,
  type LimitRules,
  limitsCallers,
  limitsNamespaces,
  limitsOfCaller,
  limitsOfNamespace,
} from "./limit-rules.js";
import { callerLabel, LimitSubject, namespaceLabel } from "./limit-subject.js";
import { type LimitedCall, type LimitedWork, RequestAdmission } from "./request-admission.js";
import { limitClock } from "./token-bucket.js";

/** A table that a request adds rows or bytes to. */
export interface StoredTable {
  readonly id: readonly string[];
  /** Its id before the request, which moves it: its namespaces and its creator hold it already. */
  readonly from?: readonly string[];
}

/** What the limits need to know of a request. */
export interface LimitedRequest {
  readonly caller: LimitedCaller;
  /** The namespace of the request's object; undefined if its path names none. */
  readonly namespace: readonly string[] | undefined;
  readonly work: readonly LimitedWork[];
  /** The tables that a request adds rows or bytes to, if its content names them. */
  // biome-ignore lint/suspicious/noExplicitAny: the operation knows its calls
  readonly storedTables?: ((call: any) => readonly StoredTable[]) | undefined;
}

/** Applies the limits of a file to the requests of one thread. The state is that of the whole process. */
export class Limiter {
  #rules: LimitRules;
  #limitsCallers: boolean;
  #addresses: AddressBudget;

  constructor(
    rules: LimitRules,
    readonly memory: LimitMemory,
    readonly owner: LimitOwner,
  ) {
    this.#rules = rules;
    this.#limitsCallers = limitsCallers(rules);
    this.#addresses = new AddressBudget(rules.unauthenticated, memory.addresses);
  }

  /** Applies other limits from the next request on. Their state stays. */
  setRules(rules: LimitRules): void {
    this.#rules = rules;
    this.#limitsCallers = limitsCallers(rules);
    this.#addresses = new AddressBudget(rules.unauthenticated, this.memory.addresses);
  }

  /** False: `admit` never refuses a request now, so the caller of a request need not be counted. */
  get limitsCallers(): boolean {
    return this.#limitsCallers;
  }

  /** Counts a request and what it does. @throws LimitExceeded */
  admit({ caller, namespace, work, storedTables }: LimitedRequest): RequestAdmission {
    const now = limitClock();
    const subjects = this.#subjects(caller, namespace, now);
    const storage =
      storedTables && ((call: LimitedCall) => this.storage(caller, storedTables(call)));
    const admission = new RequestAdmission(this.memory, this.owner, subjects, work, { storage });
    try {
      admission.begin(now);
    } catch (error) {
      throw this.memory.countIfRefused(error);
    }
    return admission;
  }

  /** A part of a request that is counted already. It has no end. */
  part({ caller, namespace, work }: LimitedRequest): RequestAdmission {
    const subjects = this.#subjects(caller, namespace, limitClock());
    return new RequestAdmission(this.memory, this.owner, subjects, work);
  }

  /** A part of a request that is counted already: it adds rows or bytes to tables. It has no end. */
  storage(caller: LimitedCaller, tables: readonly StoredTable[]): RequestAdmission {
    const now = limitClock();
    const subjects = new Map<string, LimitSubject>();
    for (const { id, from } of tables) {
      for (const subject of this.#subjects(caller, id.slice(0, -1), now)) {
        const { scope, name } = subject;
        const holdsIt = from && (scope === "caller" || isBelow(from, decodePath(name)));
        if (!holdsIt) subjects.set(`${scope}:${name}`, subject);
      }
    }
    const changed = tables.flatMap(({ id, from }) => (from ? [from, id] : [id]));
    const limited = [...subjects.values()];
    return new RequestAdmission(this.memory, this.owner, limited, ["storage"], { changed });
  }

  /** Counts a query of a request that is counted already. Its `end` has to follow. @throws LimitExceeded */
  query(caller: LimitedCaller, namespace: readonly string[] | undefined): RequestAdmission {
    const admission = this.part({ caller, namespace, work: ["query"] });
    try {
      admission.beginQuery();
    } catch (error) {
      throw this.memory.countIfRefused(error);
    }
    return admission;
  }

  /** Counts more work of a request that is counted already. It is not refused, but its caller owes it. */
  chargeRequest(caller: LimitedCaller): void {
    const now = limitClock();
    // Not the namespaces: other callers would have to wait, too.
    for (const subject of this.#subjects(caller, undefined, now)) subject.chargeRequest(now);
  }

  /** Counts an unauthenticated request. @throws LimitExceeded */
  admitUnauthenticated(address: string, forwardedFor: string): void {
    try {
      this.#addresses.take(address, forwardedFor, limitClock());
    } catch (error) {
      throw this.memory.countIfRefused(error);
    }
  }

  /** Refuses an unauthenticated request whose budget is used, without counting it. @throws LimitExceeded */
  checkUnauthenticated(address: string, forwardedFor: string): void {
    try {
      this.#addresses.check(address, forwardedFor, limitClock());
    } catch (error) {
      throw this.memory.countIfRefused(error);
    }
  }

  /** The caller, then the namespaces from the root down. */
  #subjects(
    caller: LimitedCaller,
    namespace: readonly string[] | undefined,
    now: bigint,
  ): LimitSubject[] {
    const { callers, namespaces } = this.memory;
    const subjects = [
      new LimitSubject(
        "caller",
        caller.id,
        callerLabel(caller),
        limitsOfCaller(this.#rules, caller),
        callers.of(caller.id, now),
      ),
    ];
    if (namespace === undefined || !limitsNamespaces(this.#rules)) return subjects;
    for (let depth = 0; depth <= namespace.length; depth++) {
      const path = namespace.slice(0, depth);
      const limits = limitsOfNamespace(this.#rules, path);
      if (Object.keys(limits).length === 0) continue;
      const name = encodePath(path);
      const slot = namespaces.of(name, now);
      subjects.push(new LimitSubject("namespace", name, namespaceLabel(path), limits, slot));
    }
    return subjects;
  }
}
