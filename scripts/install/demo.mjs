import { readdirSync } from "node:fs";
import { root } from "../build/paths.mjs";
import { commandLine, family, filesOf, kill } from "./processes.mjs";

/**
 * `npx joust demo` on a host where joust is installed: it is queried, shows /docs, uses nothing of the checkout,
 * and leaves nothing behind. Throws one sentence at the first thing that is wrong.
 *
 * @returns {Promise<number>} when the first query was answered, as of performance.now()
 */
export async function tryDemo(host) {
  let answered;
  const demo = await host.start(["joust", "demo", "--stay"], (out) => {
    if (/^3\. nearest/m.test(out)) answered ??= performance.now();
    if (!out.includes("The server runs until Ctrl-C")) return undefined;
    const url = /joust listens on (\S+)/.exec(out)?.[1];
    const key = /Bearer (joust_[\w-]+)/.exec(out)?.[1];
    const nearest = /^3\. Texts nearest to "a fast logger".*\n(.*)$/m.exec(out)?.[1];
    return { url, key, nearest };
  });
  const processes = family(demo.child.pid);
  try {
    const { nearest } = demo.found;
    if (!nearest?.includes("pino")) throw new Error(`nearest to "a fast logger" is ${nearest}`);
    await ask(demo.found);
    if (process.platform === "linux") usesNothingOfCheckout(processes);
  } finally {
    // Only the demo's own process, as Ctrl-C in a terminal would: it stops the server.
    for (const pid of processes) {
      if (/^\S*node \S*\/joust demo/.test(commandLine(pid))) kill(pid, "SIGTERM");
    }
  }
  await demo.ended;
  const running = processes.filter((pid) => commandLine(pid) !== "");
  if (running.length > 0) throw new Error(`still running: ${running.map(commandLine).join(", ")}`);
  const left = readdirSync(host.temporary).filter((name) => name.startsWith("joust-"));
  if (left.length > 0) throw new Error(`the demo left ${left.join(", ")} in the temporary folder`);
  return answered;
}

async function ask({ url, key }) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const count = await fetch(`${url}/v1/table/demo%24packages/count_rows`, {
    method: "POST",
    headers,
    body: '{"predicate": "words > 0"}',
  });
  const rows = await count.text();
  if (!count.ok || !(Number(rows) > 100)) {
    throw new Error(`count_rows answered ${count.status}: ${rows}`);
  }
  const docs = await fetch(`${url}/docs`);
  const page = await docs.text();
  if (docs.status !== 200 || !page.includes("<html")) {
    throw new Error(`/docs answered ${docs.status}: ${page.slice(0, 100)}`);
  }
  const parts = [...page.matchAll(/(?:src|href)="([^":]+)"/g)].map(([, part]) => part);
  if (parts.length === 0) throw new Error("/docs names no scripts and no styles");
  for (const part of parts) {
    const { status } = await fetch(new URL(part, `${url}/`));
    if (status !== 200) throw new Error(`/${part}, a part of /docs, answered ${status}`);
  }
}

function usesNothingOfCheckout(processes) {
  const own = processes.flatMap(filesOf).filter((name) => name.startsWith(root));
  if (own.length > 0) throw new Error(`files of the checkout are open: ${own.join(", ")}`);
}
