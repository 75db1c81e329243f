import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import autocannon from "autocannon";

const hasWrk = spawnSync("wrk", ["--version"]).error === undefined;

/** What makes the load: wrk where it is installed, autocannon, which takes more CPU itself, elsewhere. */
export const tool = hasWrk ? "wrk" : "autocannon";

/**
 * Sends the bodies (text or bytes) in turn over `connections` kept-alive connections for `seconds`.
 * Returns requests per second, latencies in ms, and how many answers were not 2xx or did not come.
 */
export function load(request) {
  return hasWrk ? withWrk(request) : withAutocannon(request);
}

function withWrk({ url, path, headers, bodies, connections, seconds }) {
  const scratch = mkdtempSync(join(tmpdir(), "joust-bench-"));
  try {
    const script = join(scratch, "load.lua");
    const bodyFile = join(scratch, "bodies");
    // Each body after a line that says how long it is: bodies may hold any byte.
    const framed = bodies.flatMap((body) => [`${Buffer.byteLength(body)}\n`, body]);
    writeFileSync(bodyFile, Buffer.concat(framed.map((part) => Buffer.from(part))));
    writeFileSync(script, luaScript(headers, bodyFile));
    // One thread makes all the load that these scenarios can take, and leaves the cores to the server.
    const args = ["-t", "1", "-c", String(connections), "-d", `${seconds}s`, "--latency"];
    return parseWrk(execFileSync("wrk", [...args, "-s", script, url + path]).toString());
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

function luaScript(headers, bodyFile) {
  const lines = Object.entries(headers).map(
    ([name, value]) => `wrk.headers["${name}"] = "${value}"`,
  );
  return `wrk.method = "POST"
${lines.join("\n")}
local requests = {}
local at = 0
init = function()
  local file = io.open("${bodyFile}", "rb")
  for length in file:lines() do
    requests[#requests + 1] = wrk.format(nil, nil, nil, file:read(tonumber(length)))
  end
end
request = function()
  at = at % #requests + 1
  return requests[at]
end
done = function(summary, latency)
  local errors = summary.errors
  io.write(string.format("joust %f %f %f %d\\n",
    summary.requests / summary.duration * 1e6, latency:percentile(50) / 1e3,
    latency:percentile(99) / 1e3,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout))
end
`;
}

function parseWrk(output) {
  const [, rate, p50, p99, failures] = /^joust (\S+) (\S+) (\S+) (\d+)$/m.exec(output);
  return { rate: Number(rate), p50: Number(p50), p99: Number(p99), failures: Number(failures) };
}

async function withAutocannon({ url, path, headers, bodies, connections, seconds }) {
  const requests = bodies.map((body) => ({ method: "POST", path, headers, body }));
  const result = await autocannon({ url, connections, duration: seconds, requests });
  return {
    rate: result.requests.average,
    p50: result.latency.p50,
    p99: result.latency.p99,
    failures: result.non2xx + result.errors,
  };
}
