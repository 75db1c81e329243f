/** @import { Rows, Source } from "../types.js" */
import { random } from "./random.mjs";
import { words, ZipfText } from "./words.mjs";

const BATCH = 8192;
const QUERIES = 500;
const LABELS = 20;
/** Embeddings vary in few dimensions: rows are drawn in this many and rotated into all. */
const LATENT = 24;
const CENTRES = 400;
/** Rows with nearly the same meaning. They contain the nearest neighbors of a row, as in real data. */
const FAMILY = 20;
/** Standard deviation of the part that no latent dimension explains. */
const NOISE = 0.06;

/**
 * Generates a table of any size. Vectors have length 1 and form clusters in a space of few dimensions, as
 * embeddings do. Texts have 8 to 16 words with the frequencies of a natural language.
 *
 * @param {{ rows: number, dimensions: number, seed: number }} wanted
 * @returns {Source}
 */
export function generated({ rows, dimensions, seed }) {
  const drawVector = vectors(dimensions, Math.ceil(rows / FAMILY), seed);
  return {
    title: `generated, seed ${seed}`,
    dimensions,
    distance: "cosine",
    queries: queries(drawVector, dimensions, seed),
    async *batches() {
      const numbers = random(seed + 1);
      const texts = new ZipfText(words(seed), seed + 2);
      const chance = random(seed + 3);
      for (let at = 0; at < rows; at += BATCH) {
        yield batch(Math.min(BATCH, rows - at));
      }

      /** @param {number} size @returns {Rows} */
      function batch(size) {
        const flat = new Float32Array(size * dimensions);
        for (let i = 0; i < size; i++) drawVector(chance, flat, i * dimensions);
        return {
          vectors: flat,
          texts: Array.from({ length: size }, () => texts.next()),
          labels: Array.from({ length: size }, () => `label-${numbers.below(LABELS)}`),
          numbers: Float64Array.from({ length: size }, () => numbers.below(1_000_000)),
        };
      }
    },
  };
}

/** Queries from the distribution of the rows. */
function queries(drawVector, dimensions, seed) {
  const chance = random(seed + 4);
  return Array.from({ length: QUERIES }, () => {
    const vector = new Float32Array(dimensions);
    drawVector(chance, vector, 0);
    return [...vector];
  });
}

/** @returns {(chance: ReturnType<typeof random>, into: Float32Array, at: number) => void} */
function vectors(dimensions, families, seed) {
  const chance = random(seed);
  const normals = (length, scale) => Float32Array.from({ length }, () => chance.normal() * scale);
  const latentDimensions = Math.min(LATENT, dimensions);
  const centres = normals(CENTRES * latentDimensions, 1);
  const points = normals(families * latentDimensions, 0.6);
  const rotation = normals(dimensions * latentDimensions, 1 / Math.sqrt(dimensions));
  const latent = new Float32Array(latentDimensions);

  return (source, into, at) => {
    const family = source.below(families);
    const [point, centre] = [family * latentDimensions, (family % CENTRES) * latentDimensions];
    for (let i = 0; i < latentDimensions; i++) {
      latent[i] = centres[centre + i] + points[point + i] + source.normal() * 0.2;
    }
    let squares = 0;
    for (let row = 0; row < dimensions; row++) {
      let value = source.normal() * NOISE;
      const from = row * latentDimensions;
      for (let i = 0; i < latentDimensions; i++) value += rotation[from + i] * latent[i];
      into[at + row] = value;
      squares += value * value;
    }
    const length = Math.sqrt(squares);
    for (let row = 0; row < dimensions; row++) into[at + row] /= length;
  };
}
