import { readdirSync } from "node:fs";
import { root } from "../build/paths.mjs";
import { commandLine, filesOf, processTree, signal } from "./processes.mjs";

/**
 * Tests `npx joust demo` on a host with joust installed: the server answers queries and /docs, opens no file of the
 * checkout, and leaves no process and no file.
 *
 * @returns {Promise<number>} the time of the first answer, as of performance.now()
 * @throws Error with one sentence about the first fault
 */
export async function tryDemo(host) {
  let answeredAt;
  const demo = await host.start(["joust", "demo", "--stay"], (out) => {
    if (/^3\. Texts nearest/m.test(out)) answeredAt ??= performance.now();
    if (!out.includes("The server runs until Ctrl-C")) return undefined;
    const url = /joust listens on (\S+)/.exec(out)?.[1];
    const key = /Bearer (joust_[\w-]+)/.exec(out)?.[1];
    const nearest = /^3\. Texts nearest to "a PostgreSQL client".*\n(.*)$/m.exec(out)?.[1];
    return { url, key, nearest };
  });
  const processes = processTree(demo.child.pid);
  try {
    const { nearest } = demo.result;
    if (!nearest?.includes("pg")) throw new Error(`nearest to "a PostgreSQL client" is ${nearest}`);
    await checkServer(demo.result);
    if (process.platform === "linux") checkOpenFiles(processes);
  } finally {
    // Only the process of the demo, which stops the server.
    for (const pid of processes) {
      if (/^\S*node \S*\/joust demo/.test(commandLine(pid))) signal(pid, "SIGTERM");
    }
  }
  await demo.ended;
  const running = processes.filter((pid) => commandLine(pid) !== "");
  if (running.length > 0) throw new Error(`still running: ${running.map(commandLine).join(", ")}`);
  const remaining = readdirSync(host.temporary).filter((name) => name.startsWith("joust-"));
  if (remaining.length > 0)
    throw new Error(`the demo left ${remaining.join(", ")} in the temporary folder`);
  return answeredAt;
}

async function checkServer({ url, key }) {
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
  if (parts.length === 0) throw new Error("/docs contains no links to scripts or styles");
  for (const part of parts) {
    const { status } = await fetch(new URL(part, `${url}/`));
    if (status !== 200) throw new Error(`/${part}, a part of /docs, answered ${status}`);
  }
}

function checkOpenFiles(processes) {
  const open = processes.flatMap(filesOf).filter((name) => name.startsWith(root));
  if (open.length > 0) throw new Error(`files of the checkout are open: ${open.join(", ")}`);
}
