import type { Outcome } from "./connection.js";
import { exceptions } from "./oracle.js";
import { places } from "./places.js";
import type { HostileRequest } from "./requests.js";

/** What a run saw, by status and by operation. */
export class Report {
  readonly statuses = new Map<Outcome, number>();
  readonly exceptions = new Map<string, number>();
  readonly #operations = new Map<string, Map<string, number>>();
  readonly #kinds = new Map<string, number>();
  readonly #times = new Map<string, { total: number; longest: number; index: number }>();
  sent = 0;

  /** The duration of a request, ms. */
  took({ place }: HostileRequest, index: number, ms: number): void {
    const { id } = place.operation;
    const { total, longest, index: at } = this.#times.get(id) ?? { total: 0, longest: 0, index };
    const isLongest = ms > longest;
    this.#times.set(id, {
      total: total + ms,
      longest: isLongest ? ms : longest,
      index: isLongest ? index : at,
    });
  }

  add({ kind, place, connection }: HostileRequest, outcome: Outcome): void {
    count(this.statuses, outcome);
    count(this.#kinds, kind);
    if (connection !== "shared") return;
    const { id } = place.operation;
    const own = this.#operations.get(id) ?? new Map<string, number>();
    this.#operations.set(id, own);
    count(own, typeof outcome === "number" ? `${Math.floor(outcome / 100)}xx` : outcome);
  }

  get succeeded(): number {
    return [...this.statuses]
      .filter(([status]) => Number(status) >= 200 && Number(status) < 300)
      .reduce((sum, [, number]) => sum + number, 0);
  }

  /** Operations without a successful reply. */
  withoutSuccess(): string[] {
    const ids = new Set(places.map(({ operation }) => operation.id));
    return [...ids].filter((id) => !this.#operations.get(id)?.has("2xx"));
  }

  #time(id: string): string {
    const { total, longest, index } = this.#times.get(id) ?? { total: 0, longest: 0, index: 0 };
    return `${Math.round(total)} ms in all, ${Math.round(longest)} ms for request ${index}`;
  }

  toString(): string {
    const table = [...this.#operations]
      .sort()
      .map(([id, own]) => `  ${id}: ${line(own)}; ${this.#time(id)}`);
    return [
      `replies: ${line(this.statuses)}`,
      `kinds: ${line(this.#kinds)}`,
      ...exceptions.map(
        ({ name, reason }) => `admitted: ${name}: ${this.exceptions.get(name) ?? 0} (${reason})`,
      ),
      "by operation:",
      ...table,
    ].join("\n");
  }
}

export function count<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

const line = (counts: Map<Outcome, number> | Map<string, number>): string =>
  [...counts]
    .sort(([a], [b]) => String(a).localeCompare(String(b)))
    .map(([name, number]) => `${name} ${number}`)
    .join(", ");
