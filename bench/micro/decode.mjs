import { native } from "../../build/engine/native.js";

const MILLISECONDS = 1_000;
const REPEATED = 50;

/**
 * Nanoseconds to parse the body of a query: in the engine, including the call from JavaScript, and with
 * `JSON.parse`. Neither reads the table.
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

/** Processor time, the minimum of several runs, because other processes can only increase it. @param {() => void} work */
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
  const vectorQuery = (length) => ({ k: 10, vector: { single_vector: vector(length) }, columns });
  const vectors = Array.from({ length: 10 }, () => vector(768));
  const words = { string_query: { query: "two words", columns: ["text"] } };
  return [
    ["filter", { k: 10, vector: { single_vector: [] }, filter: "id IN (1, 2, 3)", columns }],
    ["text", { k: 10, vector: { single_vector: [] }, full_text_query: words, columns }],
    ["vector of 128", vectorQuery(128)],
    ["vector of 768", vectorQuery(768)],
    ["vector of 1536", vectorQuery(1536)],
    ["10 vectors of 768", { k: 10, vector: { multi_vector: vectors }, columns }],
  ];
}
