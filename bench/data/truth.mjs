/** @import { Distance, Source } from "../types.js" */

/**
 * The k nearest rows of each query, nearest first, from an exhaustive search of the rows that a filter admits:
 * one result for each filter of `admitted`.
 *
 * @template {string} Name
 * @param {Source} source
 * @param {readonly (readonly number[])[]} queries
 * @param {number} k
 * @param {Record<Name, (id: number) => boolean>} admitted
 * @returns {Promise<Record<Name, number[][]>>}
 */
export async function nearest(source, queries, k, admitted) {
  const names = /** @type {Name[]} */ (Object.keys(admitted));
  const admits = names.map((name) => admitted[name]);
  const targets = queries.map((query) => Float32Array.from(query));
  const lengths = targets.map((target) => Math.sqrt(dot(target, 0, target)));
  const best = names.map(() => targets.map(() => new Nearest(k)));
  /** @type {number[]} */
  const open = [];
  let id = 0;
  for await (const { vectors, texts } of source.batches()) {
    for (let row = 0; row < texts.length; row++, id++) {
      // Reused, because there may be millions of rows.
      open.length = 0;
      for (let i = 0; i < admits.length; i++) if (admits[i](id)) open.push(i);
      if (open.length === 0) continue;
      const at = row * source.dimensions;
      const length = source.distance === "dot" ? 0 : norm(vectors, at, source.dimensions);
      for (let q = 0; q < targets.length; q++) {
        const product = dot(vectors, at, targets[q]);
        const distance = distanceOf(source.distance, product, length, lengths[q]);
        for (let i = 0; i < open.length; i++) best[open[i]][q].offer(id, distance);
      }
    }
  }
  const results = names.map((name, i) => [name, best[i].map((nearest) => nearest.ids())]);
  return Object.fromEntries(results);
}

/** The distance of vectors with this scalar product and these lengths. @param {Distance} kind */
function distanceOf(kind, product, length, other) {
  if (kind === "dot") return -product;
  if (kind === "l2") return length * length - 2 * product;
  return length === 0 ? 1 : 1 - product / (length * other);
}

function norm(vectors, at, dimensions) {
  let squares = 0;
  for (let i = at; i < at + dimensions; i++) squares += vectors[i] * vectors[i];
  return Math.sqrt(squares);
}

/** The scalar product of the vector that begins at `at` with `target`. */
function dot(vectors, at, target) {
  const size = target.length;
  // Four independent sums, which the processor computes in parallel.
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let i = 0;
  for (; i + 3 < size; i += 4) {
    a += vectors[at + i] * target[i];
    b += vectors[at + i + 1] * target[i + 1];
    c += vectors[at + i + 2] * target[i + 2];
    d += vectors[at + i + 3] * target[i + 3];
  }
  for (; i < size; i++) a += vectors[at + i] * target[i];
  return a + b + c + d;
}

/** The k smallest distances so far, sorted. For a small k, insertion is faster than a heap. */
class Nearest {
  #k;
  #ids = [];
  #distances = [];

  constructor(k) {
    this.#k = k;
  }

  offer(id, distance) {
    const { length } = this.#ids;
    if (length === this.#k && distance >= this.#distances[length - 1]) return;
    let at = length === this.#k ? length - 1 : length;
    for (; at > 0 && this.#distances[at - 1] > distance; at--) {
      this.#ids[at] = this.#ids[at - 1];
      this.#distances[at] = this.#distances[at - 1];
    }
    this.#ids[at] = id;
    this.#distances[at] = distance;
  }

  ids() {
    return this.#ids;
  }
}
