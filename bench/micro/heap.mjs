import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Engine } from "../../dist/engine/index.js";

/** Rows of an answer, so that it comes as one part. */
const ROWS = 5_000;

/**
 * What large answers take while all of them are held: of JavaScript's heap, and of the memory outside of it
 * that Node knows of. The latter is the engine's own, so it is as large as the answers; a copy made in
 * JavaScript would double it.
 *
 * @param {string} location of a table
 * @param {number} answers
 */
export async function heap(location, answers) {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  const table = new Engine({}).table(location);
  const body = Buffer.from(JSON.stringify({ k: ROWS, vector: { single_vector: [] } }));
  const ask = () => table.query(body, { id: ["bench"], format: "stream" });
  // The table's own memory is not the answers'.
  for (let i = 0; i < answers; i++) (await ask()).rest?.cancel();
  // Buffers are let go after the turn in which they were collected.
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve, collect()));
  const before = process.memoryUsage();
  const held = [];
  let bytes = 0;
  for (let i = 0; i < answers; i++) {
    const answer = await ask();
    bytes += answer.first.byteLength;
    if (!answer.done) throw new Error("an answer has several parts");
    held.push(answer);
  }
  collect();
  const after = process.memoryUsage();
  for (const { rest } of held) rest?.cancel();
  return {
    answers,
    bytes,
    heap: after.heapUsed - before.heapUsed,
    external: after.external - before.external,
  };
}
