export const DIMENSION = 256;

/**
 * A replacement for an embedding model that needs no download (feature hashing). Each word is hashed to two
 * signed dimensions of the vector, weighted by its inverse document frequency.
 */
export class HashedWords {
  readonly #documents: number;
  readonly #documentFrequency = new Map<string, number>();

  constructor(texts: readonly string[]) {
    this.#documents = texts.length;
    for (const text of texts) {
      for (const word of new Set(wordsOf(text))) {
        this.#documentFrequency.set(word, (this.#documentFrequency.get(word) ?? 0) + 1);
      }
    }
  }

  /** Returns a vector of length 1. */
  embed(text: string): Float32Array {
    const counts = new Map<string, number>();
    for (const word of wordsOf(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
    const vector = new Float32Array(DIMENSION);
    for (const [word, count] of counts) {
      const idf = Math.log((this.#documents + 1) / ((this.#documentFrequency.get(word) ?? 0) + 1));
      const weight = (1 + Math.log(count)) * idf;
      for (const { at, sign } of dimensionsOf(word)) vector[at] = (vector[at] ?? 0) + sign * weight;
    }
    const length = Math.hypot(...vector) || 1;
    return vector.map((value) => value / length);
  }
}

function wordsOf(text: string): string[] {
  const words = text.toLowerCase().match(/[a-z][a-z0-9]{2,}/g) ?? [];
  // Singular and plural are one word.
  return words.map((word) => (word.length > 4 ? word.replace(/s$/, "") : word));
}

/** Two dimensions per word: words that share one of them still differ in the other. */
function dimensionsOf(word: string): { at: number; sign: 1 | -1 }[] {
  return [17, 91].map((seed) => {
    let hash = seed;
    for (const letter of word)
      hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193) >>> 0;
    hash ^= hash >>> 15;
    return { at: hash % DIMENSION, sign: hash & 0x10000 ? 1 : -1 };
  });
}
