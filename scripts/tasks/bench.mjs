import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { load, tool } from "../../bench/load.mjs";
import { scenarios } from "../../bench/scenarios.mjs";
import { startJoust, startPeer } from "../../bench/servers.mjs";
import { indexTable, loadTable, post, readSource, TABLE } from "../../bench/table.mjs";

const WARM_UP_SECONDS = 3;
/** Every server is measured so often, in turn: a machine whose speed drifts favours nobody. */
const ROUNDS = 2;

/** `npm run bench -- [SCENARIO...] [--seconds=N]`: joust and its peers in turn, on one table. */
export async function run(args) {
  const source = readSource();
  if (!source) {
    console.log("skipped: the benchmark's table, ../shared/data/debian.arrows, is absent");
    return 0;
  }
  const seconds = Number(/--seconds=(\d+)/.exec(args.join(" "))?.[1] ?? 10);
  const named = args.filter((arg) => !arg.startsWith("--"));
  const chosen = named.length > 0 ? named : Object.keys(scenarios);
  const unknown = chosen.find((name) => !(name in scenarios));
  if (unknown)
    throw new Error(`no scenario ${unknown}; there are ${Object.keys(scenarios).join(", ")}`);
  const directory = mkdtempSync(join(tmpdir(), "joust-bench-"));
  try {
    const ours = join(directory, "joust");
    const theirs = join(directory, "peer");
    const indexed = chosen.some((name) => scenarios[name].indexed);
    await prepare(ours, theirs, source, indexed);
    console.log(
      `${tool}, ${cpus().length} cores, ${seconds} s each, load and server on one machine`,
    );
    const starts = [
      () => startJoust(ours),
      () => startPeer(theirs, { sharedSession: false }),
      () => startPeer(theirs, { sharedSession: true }),
    ];
    const rows = [];
    for (let round = 1; round <= ROUNDS; round++) {
      for (const start of starts) {
        const measured = await measure(await start(), chosen, source, seconds);
        rows.push(...measured.map((row) => ({ round, ...row })));
      }
    }
    rows.sort((a, b) => a.scenario.localeCompare(b.scenario) || a.server.localeCompare(b.server));
    console.table(rows);
    return rows.some(({ failures }) => failures > 0) ? 1 : 0;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** joust writes and indexes the table; the peer gets a copy, so that both search the same index. */
async function prepare(ours, theirs, source, indexed) {
  const server = await startJoust(ours);
  await loadTable(server, source);
  if (indexed) await indexTable(server);
  await server.stop();
  mkdirSync(theirs);
  cpSync(join(ours, `${TABLE}.lance`), join(theirs, `${TABLE}.lance`), { recursive: true });
}

async function measure(server, chosen, { table }, seconds) {
  if (!server) return [];
  try {
    const rows = [];
    for (const name of chosen) {
      const { title, operation, connections, bodies, check, prepare } = scenarios[name];
      const contentType = scenarios[name].contentType ?? "application/json";
      const to = (await prepare?.(server)) ?? TABLE;
      const request = {
        url: server.url,
        path: `/v1/table/${to}/${operation}`,
        headers: { ...server.headers, "content-type": contentType },
        bodies: bodies(table),
        connections,
      };
      await check(await post(server, to, operation, request.bodies[0], contentType));
      await load({ ...request, seconds: WARM_UP_SECONDS });
      const { rate, p50, p99, failures } = await load({ ...request, seconds });
      const latency = { "p50 ms": Number(p50.toFixed(2)), "p99 ms": Number(p99.toFixed(2)) };
      rows.push({
        scenario: title,
        server: server.name,
        "requests/s": Math.round(rate),
        ...latency,
        failures,
      });
    }
    return rows;
  } finally {
    await server.stop();
  }
}
