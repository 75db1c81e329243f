/** @import { Predicate, Rows } from "../types.js" */
import { random } from "./random.mjs";

/** The number of stored texts; text queries use their words. */
const STORED_TEXTS = 2_000;

/** The filter columns of a table, to compute which rows match a filter: a few bytes a row. */
export class Columns {
  size = 0;
  /** @type {string[]} */
  labels = [];
  /** The number of rows of each label, by its index in `labels`. @type {number[]} */
  counts = [];
  #codes = new Map();
  #labelOf = new Uint32Array(1024);
  #numberOf = new Float64Array(1024);
  #texts = [];

  /** @param {Rows} rows */
  add({ texts, labels, numbers }) {
    this.#grow(this.size + texts.length);
    labels.forEach((label, i) => {
      const code = this.#code(label);
      this.counts[code]++;
      this.#labelOf[this.size + i] = code;
      this.#numberOf[this.size + i] = Math.trunc(numbers[i]);
    });
    this.#texts.push(...texts.slice(0, STORED_TEXTS - this.#texts.length));
    this.size += texts.length;
  }

  /** @param {number} id @param {Predicate} predicate */
  matches(id, { label, number }) {
    if (label !== undefined && this.labels[this.#labelOf[id]] !== label) return false;
    const value = this.#numberOf[id];
    return number === undefined || (value >= number[0] && value < number[1]);
  }

  /** @param {Predicate} predicate */
  count(predicate) {
    let matched = 0;
    for (let id = 0; id < this.size; id++) if (this.matches(id, predicate)) matched++;
    return matched;
  }

  /** The `parts + 1` numbers, in ascending order, that divide the rows into `parts` of equal size. */
  quantiles(/** @type {number} */ parts) {
    const sorted = this.#numberOf.slice(0, this.size).sort();
    const at = (part) => sorted[Math.min(this.size - 1, Math.floor((part / parts) * this.size))];
    return Array.from({ length: parts + 1 }, (_, part) => at(part));
  }

  /** Pairs of neighboring words of the texts. @param {number} count */
  queries(count) {
    const chance = random(count);
    const texts = this.#texts.map((text) => text.match(/[a-zA-Z]{4,}/g) ?? []);
    const rich = texts.filter((words) => words.length > 1);
    if (rich.length === 0) return [];
    return Array.from({ length: count }, (_, i) => {
      const words = rich[i % rich.length];
      return words
        .slice(chance.below(words.length - 1))
        .slice(0, 2)
        .join(" ");
    });
  }

  #code(label) {
    let code = this.#codes.get(label);
    if (code === undefined) {
      code = this.labels.push(label) - 1;
      this.#codes.set(label, code);
      this.counts.push(0);
    }
    return code;
  }

  #grow(needed) {
    if (needed <= this.#labelOf.length) return;
    const size = Math.max(needed, this.#labelOf.length * 2);
    const labels = new Uint32Array(size);
    labels.set(this.#labelOf);
    this.#labelOf = labels;
    const numbers = new Float64Array(size);
    numbers.set(this.#numberOf);
    this.#numberOf = numbers;
  }
}

/** The label whose share of the rows is closest to 5 %. @param {Columns} columns */
export function chooseLabel({ labels, counts, size }) {
  const wanted = size / 20;
  const deviation = (code) => Math.abs(counts[code] - wanted);
  const code = labels.reduce(
    (best, _, other) => (deviation(other) < deviation(best) ? other : best),
    0,
  );
  return labels[code];
}

/**
 * Filters on both columns. Each filter matches some rows.
 *
 * @param {Columns} columns
 * @param {string} label
 * @returns {Predicate[]}
 */
export function choosePredicates(columns, label) {
  const limits = columns.quantiles(10);
  const predicates = limits.slice(0, -1).map((from, i) => {
    const number = /** @type {const} */ ([from, Math.max(from + 1, limits[i + 1])]);
    return { label, number };
  });
  const filled = predicates.filter((predicate) => columns.count(predicate) > 0);
  return filled.length > 0 ? filled : [{ label }];
}
