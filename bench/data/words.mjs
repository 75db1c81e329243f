import { random } from "./random.mjs";

const VOCABULARY = 20_000;
const SYLLABLES =
  "ba be bi bo da de di do fa fe fi ga go ka ke ki ko la le li lo ma me mi mo na ne ni no pa po ra re ri ro sa se si so ta te ti to va ve vi za zo".split(
    " ",
  );

/** Distinct words of two to four syllables. @param {number} seed */
export function words(seed) {
  const chance = random(seed + 100);
  const vocabulary = new Set();
  while (vocabulary.size < VOCABULARY) {
    const length = 2 + chance.below(3);
    const syllables = Array.from({ length }, () => SYLLABLES[chance.below(SYLLABLES.length)]);
    vocabulary.add(syllables.join(""));
  }
  return /** @type {string[]} */ ([...vocabulary]);
}

/** Texts in which the n-th word occurs about 1/n as often as the first. */
export class ZipfText {
  #words;
  #chance;

  /** @param {readonly string[]} words @param {number} seed */
  constructor(words, seed) {
    this.#words = words;
    this.#chance = random(seed);
  }

  /** 8 to 16 words. */
  next() {
    const length = 8 + this.#chance.below(9);
    return Array.from({ length }, () => this.#word()).join(" ");
  }

  #word() {
    // The inverse of the logarithm, which approximates the sum of 1/n.
    const rank = this.#words.length ** this.#chance.uniform();
    return this.#words[Math.min(this.#words.length, Math.floor(rank)) - 1];
  }
}
