import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";

/** A server of the demo. */
export interface DemoServer {
  readonly url: string;
  readonly key: string;
  /** Resolves when the process has ended. */
  stop(): Promise<unknown>;
}

/** `joust serve` on a free port; resolves when it listens. */
export function startServer(root: string): Promise<DemoServer> {
  const key = `joust_${randomBytes(32).toString("base64url")}`;
  const main = fileURLToPath(new URL("../cli/main.js", import.meta.url));
  const args = [main, "serve", root, "--port", "0", "--log-level", "warn"];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, JOUST_API_KEY: key },
    stdio: ["ignore", "pipe", "inherit"],
    // Ctrl-C must reach the demo only, which then stops the server.
    detached: true,
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const stop = () => {
    child.kill("SIGTERM");
    return ended;
  };
  return new Promise((resolve, reject) => {
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
      const url = /joust listening on (http:\/\/\S+)/.exec(output)?.[1];
      if (url) resolve({ url, key, stop });
    });
    ended.then((code) => reject(new Error(`the server of the demo ended with code ${code}`)));
  });
}

/** POSTs JSON or Arrow bytes; the decoded answer, or an error with the server's own words. */
export async function post(
  { url, key }: Pick<DemoServer, "url" | "key">,
  path: string,
  body: object = {},
  // biome-ignore lint/suspicious/noExplicitAny: JSON of any operation, or the bytes of an Arrow file
): Promise<any> {
  const isArrow = body instanceof Uint8Array;
  const response = await fetch(url + path, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": isArrow ? "application/vnd.apache.arrow.stream" : "application/json",
    },
    body: isArrow ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body),
  });
  const answer = new Uint8Array(await response.arrayBuffer());
  const isJson = response.headers.get("content-type")?.startsWith("application/json");
  const decoded = isJson ? JSON.parse(new TextDecoder().decode(answer)) : answer;
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${decoded.detail}`);
  return decoded;
}
