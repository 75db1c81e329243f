import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeDataset } from "../data/dataset.mjs";
import { openSource } from "../data/source.mjs";
import { countingServer } from "./counting-server.mjs";
import { decode } from "./decode.mjs";
import { engineCalls } from "./engine-calls.mjs";
import { heap } from "./heap.mjs";

const ROWS = 20_000;
const REQUESTS = 200;
const ANSWERS = 20;

/**
 * Measures the calls between JavaScript and the engine and their cost, as text.
 *
 * @param {Parameters<typeof openSource>[0]} options
 * @returns {Promise<string>}
 */
export async function runMicro(options) {
  const scratch = mkdtempSync(join(tmpdir(), "joust-bench-"));
  try {
    const dataset = await makeDataset(await openSource({ ...options, rows: ROWS }), scratch);
    const server = await countingServer(dataset.file);
    try {
      const calls = await engineCalls(server, dataset, REQUESTS);
      const [table] = readdirSync(server.root).filter((name) => name.endsWith(".lance"));
      const measured = await heap(join(server.root, `${table}`), ANSWERS);
      return [...callLines(calls), "", ...decodeLines(decode()), "", ...heapLines(measured)].join(
        "\n",
      );
    } finally {
      await server.stop();
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** @param {Awaited<ReturnType<typeof engineCalls>>} lines */
function callLines(lines) {
  const rows = lines.map(({ title, bytes, calls, total, heapPerRequest }) => {
    const names = Object.entries(calls).map(([name, count]) => `${name} ${number(count)}`);
    const grown = `${number(heapPerRequest)} bytes of heap growth`;
    return `  ${title.padEnd(24)}${number(total).padStart(8)}   ${names.join(", ")}; ${grown}; answer ${bytes} bytes`;
  });
  return ["calls into the engine per request", ...rows];
}

/** @param {ReturnType<typeof decode>} lines */
function decodeLines(lines) {
  const rows = lines.map(({ title, bytes, engine, parse }) => {
    const times = `${Math.round(engine)} in the engine, ${Math.round(parse)} by JSON.parse`;
    return `  ${title.padEnd(24)}${String(bytes).padStart(8)} bytes: ${times}`;
  });
  return ["nanoseconds to parse a body", ...rows];
}

/** @param {Awaited<ReturnType<typeof heap>>} measured */
function heapLines({ answers, bytes, heap: grown, external }) {
  return [
    `${answers} large answers in memory at the same time, ${bytes} bytes`,
    `  the JavaScript heap grew by ${grown} bytes: ${((grown / bytes) * 100).toFixed(3)} % of the answers`,
    `  external memory grew by ${external} bytes: ${(external / bytes).toFixed(3)} times the answers`,
  ];
}

/** @param {number} value */
const number = (value) => String(Math.round(value * 100) / 100);
