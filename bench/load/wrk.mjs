/** @import { LoadResult } from "../types.js" @import { HttpRequest } from "./generator.mjs" */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { childrenCpuSeconds } from "../measure/processes.mjs";

const execute = promisify(execFile);

/**
 * @param {{ url: string, requests: HttpRequest[], clients: number, seconds: number }} wanted
 * @returns {Promise<LoadResult>}
 */
export async function wrkLoad({ url, requests, clients, seconds }) {
  const scratch = mkdtempSync(join(tmpdir(), "joust-bench-"));
  try {
    const script = join(scratch, "load.lua");
    const bodies = join(scratch, "bodies");
    writeFileSync(script, luaScript(requests, bodies));
    writeFileSync(bodies, Buffer.concat(requests.map(({ body }) => Buffer.from(body ?? ""))));
    // One thread saturates every contender of these scenarios and leaves the cores to the server.
    // wrk takes whole seconds only.
    const duration = `${Math.max(1, Math.round(seconds))}s`;
    const args = ["-t", "1", "-c", String(clients), "-d", duration, "--timeout", "60s"];
    const before = childrenCpuSeconds();
    const { stdout } = await execute("wrk", [...args, "-s", script, url]);
    const after = childrenCpuSeconds();
    return {
      ...parseWrk(stdout),
      ...(before === undefined || after === undefined ? {} : { loaderCpuSeconds: after - before }),
    };
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

/**
 * A script that formats each request once before the load begins, and returns them in turn.
 *
 * @param {HttpRequest[]} requests
 * @param {string} bodies a file with all bodies, concatenated: they may contain any byte
 */
function luaScript(requests, bodies) {
  const calls = requests.map(({ method, path, headers, body }) => {
    const fields = Object.entries(headers).map(([name, value]) => `[${lua(name)}]=${lua(value)}`);
    const read = body === undefined ? "nil" : `file:read(${Buffer.byteLength(body)})`;
    return `  add(${lua(method)}, ${lua(path)}, {${fields.join(",")}}, ${read})`;
  });
  return `local requests = {}
local at = 0
local function add(method, path, headers, body)
  requests[#requests + 1] = wrk.format(method, path, headers, body)
end
init = function()
  local file = io.open(${lua(bodies)}, "rb")
${calls.join("\n")}
  file:close()
end
request = function()
  at = at % #requests + 1
  return requests[at]
end
done = function(summary, latency)
  local errors = summary.errors
  io.write(string.format("joust %d %f %f %f %f %d\\n",
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3,
    latency:percentile(95) / 1e3, latency:percentile(99) / 1e3,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout))
end
`;
}

/** A Lua string literal. */
function lua(text) {
  return JSON.stringify(text);
}

/** @param {string} output */
function parseWrk(output) {
  const match = /^joust (\S+) (\S+) (\S+) (\S+) (\S+) (\d+)$/m.exec(output);
  if (!match) throw new Error(`wrk measured nothing: ${output.trim().split("\n").at(-1)}`);
  const [requests, seconds, p50, p95, p99, failures] = match.slice(1).map(Number);
  return { rate: requests / seconds, requests, p50, p95, p99, failures };
}
