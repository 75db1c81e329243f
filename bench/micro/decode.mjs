import { native } from "../../dist/engine/native.js";

const MILLISECONDS = 1_000;
const REPEATED = 50;

/**
 * Nanoseconds to read a query's body: in the engine, the crossing included, and with `JSON.parse` into an
 * object. Neither looks at the table.
 */
export function decode() {
  return bodies().map(([title, body]) => {
    const bytes = Buffer.from(JSON.stringify(body));
    return {
      title,
      bytes: bytes.length,
      engine: nanoseconds(() => native.checkQuery(bytes)),
      parse: nanoseconds(() => JSON.parse(bytes.toString())),
    };
  });
}

/** Processor time, the least of several runs: what others take from the machine only adds. @param {() => void} work */
function nanoseconds(work) {
  for (let i = 0; i < 100; i++) work();
  let least = Number.POSITIVE_INFINITY;
  for (const end = performance.now() + MILLISECONDS; performance.now() < end; ) {
    const begin = process.cpuUsage();
    for (let i = 0; i < REPEATED; i++) work();
    const { user, system } = process.cpuUsage(begin);
    least = Math.min(least, ((user + system) * 1_000) / REPEATED);
  }
  return least;
}

/** @returns {[string, object][]} */
function bodies() {
  const vector = (length) => Array.from({ length }, (_, i) => Math.fround(Math.sin(i)));
  const columns = { column_names: ["id", "text"] };
  const near = (length) => ({ k: 10, vector: { single_vector: vector(length) }, columns });
  const several = Array.from({ length: 10 }, () => vector(768));
  const words = { string_query: { query: "two words", columns: ["text"] } };
  return [
    ["filter", { k: 10, vector: { single_vector: [] }, filter: "id IN (1, 2, 3)", columns }],
    ["text", { k: 10, vector: { single_vector: [] }, full_text_query: words, columns }],
    ["vector of 128", near(128)],
    ["vector of 768", near(768)],
    ["vector of 1536", near(1536)],
    ["10 vectors of 768", { k: 10, vector: { multi_vector: several }, columns }],
  ];
}
