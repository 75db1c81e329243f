import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { root as checkout } from "../../scripts/build/paths.mjs";
import { send } from "../contenders/http.mjs";
import { namespaceDialect } from "../contenders/namespace-dialect.mjs";
import { listening, startProgram } from "../contenders/process.mjs";

const COUNT = pathToFileURL(join(import.meta.dirname, "count-crossings.mjs")).href;
const MAIN = join(checkout, "dist", "cli", "main.js");

/**
 * A server that counts its calls into the engine.
 *
 * @param {string} table the file of its only table, `bench`: a whole Arrow IPC stream
 */
export async function countingServer(table) {
  const folder = mkdtempSync(join(tmpdir(), "joust-micro-"));
  const file = join(folder, "counts.json");
  const key = `joust_${randomBytes(32).toString("base64url")}`;
  const args = ["--import", COUNT, MAIN, "serve", join(folder, "root"), "--port", "0"];
  const options = ["--log-level", "warn", "--api-key", key];
  const program = startProgram(process.execPath, [...args, ...options], {
    env: { JOUST_CROSSINGS: file },
  });
  const headers = { authorization: `Bearer ${key}` };
  const url = await listening(program);
  const dialect = namespaceDialect({ url, headers, distance: "l2" });
  await dialect.create("bench", table);
  return {
    root: join(folder, "root"),
    /** @param {import("../types.js").Ask} ask @returns {Promise<Uint8Array>} */
    async ask(ask) {
      const answer = await send(url, dialect.request("bench", ask));
      return new Uint8Array(await answer.arrayBuffer());
    },
    /** Calls so far, by name, and the bytes of JavaScript's heap that are in use. */
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
