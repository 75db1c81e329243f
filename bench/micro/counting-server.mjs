import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { root as checkout } from "../../scripts/build/paths.mjs";
import { send } from "../contenders/http-contender.mjs";
import { namespaceDialect } from "../contenders/namespace-dialect.mjs";
import { listening, startProgram } from "../contenders/program.mjs";

const COUNT = pathToFileURL(join(import.meta.dirname, "count-engine-calls.mjs")).href;
const MAIN = join(checkout, "dist", "cli", "main.js");

/**
 * Starts a server that counts its calls into the engine.
 *
 * @param {string} table a file with an Arrow IPC stream, the rows of its only table `bench`
 */
export async function countingServer(table) {
  const folder = mkdtempSync(join(tmpdir(), "joust-micro-"));
  const file = join(folder, "counts.json");
  const key = `joust_${randomBytes(32).toString("base64url")}`;
  const args = ["--import", COUNT, MAIN, "serve", join(folder, "root"), "--port", "0"];
  const options = ["--log-level", "warn", "--api-key", key];
  const program = startProgram(process.execPath, [...args, ...options], {
    env: { JOUST_ENGINE_CALLS: file },
  });
  const headers = { authorization: `Bearer ${key}` };
  const url = await listening(program);
  const dialect = namespaceDialect({ url, headers, distance: "l2" });
  await dialect.create("bench", table);
  return {
    root: join(folder, "root"),
    /** @param {import("../types.js").Operation} operation @returns {Promise<Uint8Array>} */
    async execute(operation) {
      const answer = await send(url, dialect.request("bench", operation));
      return new Uint8Array(await answer.arrayBuffer());
    },
    /** The calls so far by name, and the used bytes of the JavaScript heap. */
    async counts() {
      rmSync(file, { force: true });
      process.kill(program.pid, "SIGUSR2");
      while (!existsSync(file)) await sleep(10);
      return /** @type {{ counts: Record<string, number>, heapUsed: number }} */ (
        JSON.parse(readFileSync(file, "utf8"))
      );
    },
    async stop() {
      await program.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
