import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { packageFile } from "../foundation/package-files.js";

/** The server of the demo. */
export interface DemoServer {
  readonly url: string;
  readonly key: string;
  /** Resolves when the process has exited. */
  stop(): Promise<unknown>;
}

/** Starts `joust serve` on a free port. Resolves when it listens. */
export function startServer(root: string): Promise<DemoServer> {
  const key = `joust_${randomBytes(32).toString("base64url")}`;
  const main = fileURLToPath(packageFile("dist/cli/main.js"));
  const args = [main, "serve", root, "--port", "0", "--log-level", "warn"];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, JOUST_API_KEY: key },
    stdio: ["ignore", "pipe", "inherit"],
    // Ctrl-C must reach only the demo, which then stops the server.
    detached: true,
  });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  const stop = () => {
    child.kill("SIGTERM");
    return exited;
  };
  return new Promise((resolve, reject) => {
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
      const url = /joust listening on (http:\/\/\S+)/.exec(output)?.[1];
      if (url) resolve({ url, key, stop });
    });
    exited.then((code) => reject(new Error(`the demo server exited with code ${code}`)));
  });
}

/** POSTs JSON or Arrow bytes and returns the decoded reply. @throws Error with the server's message */
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
  const bytes = new Uint8Array(await response.arrayBuffer());
  const isJson = response.headers.get("content-type")?.startsWith("application/json");
  const decoded = isJson ? JSON.parse(new TextDecoder().decode(bytes)) : bytes;
  if (!response.ok) throw new Error(`${path} returned ${response.status}: ${decoded.detail}`);
  return decoded;
}
