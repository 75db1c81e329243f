import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeDataset } from "../data/dataset.mjs";
import { openSource } from "../data/source.mjs";
import { countingServer } from "./counting-server.mjs";
import { crossings } from "./crossings.mjs";
import { decode } from "./decode.mjs";
import { heap } from "./heap.mjs";

const ROWS = 20_000;
const REQUESTS = 200;
const ANSWERS = 20;

/**
 * What crosses between JavaScript and the engine, and what it costs.
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
      const calls = await crossings(server, dataset, REQUESTS);
      const [table] = readdirSync(server.root).filter((name) => name.endsWith(".lance"));
      const held = await heap(join(server.root, `${table}`), ANSWERS);
      return [...told(calls), "", ...read(decode()), "", ...kept(held)].join("\n");
    } finally {
      await server.stop();
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** @param {Awaited<ReturnType<typeof crossings>>} lines */
function told(lines) {
  const rows = lines.map(({ title, bytes, calls, total, heapPerRequest }) => {
    const names = Object.entries(calls).map(([name, count]) => `${name} ${number(count)}`);
    const grown = `${number(heapPerRequest)} bytes of heap kept`;
    return `  ${title.padEnd(24)}${number(total).padStart(8)}   ${names.join(", ")}; ${grown}; answer ${bytes} bytes`;
  });
  return ["calls into the engine for each request", ...rows];
}

/** @param {ReturnType<typeof decode>} lines */
function read(lines) {
  const rows = lines.map(({ title, bytes, engine, parse }) => {
    const times = `${Math.round(engine)} in the engine, ${Math.round(parse)} by JSON.parse`;
    return `  ${title.padEnd(24)}${String(bytes).padStart(8)} bytes: ${times}`;
  });
  return ["nanoseconds to read a body", ...rows];
}

/** @param {Awaited<ReturnType<typeof heap>>} held */
function kept({ answers, bytes, heap: grown, external }) {
  return [
    `${answers} large answers held at the same time, ${bytes} bytes`,
    `  JavaScript's heap grew by ${grown} bytes: ${((grown / bytes) * 100).toFixed(3)} % of them`,
    `  memory outside of it by ${external} bytes: each byte is there ${(external / bytes).toFixed(3)} times`,
  ];
}

/** @param {number} value */
const number = (value) => String(Math.round(value * 100) / 100);
