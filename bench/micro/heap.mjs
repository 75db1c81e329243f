import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Engine } from "../../dist/engine/index.js";

/** Rows of an answer: few enough that it has one part. */
const ROWS = 5_000;

/**
 * Memory of large answers while all of them are referenced: of the JavaScript heap, and of the external memory
 * that Node reports. The external memory belongs to the engine and has the size of the answers. A copy in
 * JavaScript would double it.
 *
 * @param {string} location the location of a table
 * @param {number} answers
 */
export async function heap(location, answers) {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  const table = new Engine({}).table(location);
  const body = Buffer.from(JSON.stringify({ k: ROWS, vector: { single_vector: [] } }));
  const query = () => table.query(body, { id: ["bench"], format: "stream" });
  // Opens the table, so that its memory does not count.
  for (let i = 0; i < answers; i++) (await query()).rest?.cancel();
  // Buffers are released in the event loop turn after their collection.
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve, collect()));
  const before = process.memoryUsage();
  const held = [];
  let bytes = 0;
  for (let i = 0; i < answers; i++) {
    const answer = await query();
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
