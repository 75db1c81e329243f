import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import getPort from "get-port";
import { startProcess } from "./process.js";
import { findProgram, goDirectories } from "./programs.js";
import { removeDir, tempDir } from "./temp.js";
import { waitFor } from "./wait-for.js";

const dex = findProgram("dex", goDirectories());

/** Why tests on dex cannot run here; undefined when they can. For `describe.skipIf`. */
export const dexMissing = dex ? undefined : "dex is not installed (.ci/install-dex)";

/** The client of OAuth that dex knows. It is the audience of its tokens. */
const CLIENT = "joust";

export interface Dex {
  readonly issuer: string;
  readonly client: string;
  /** The groups of the client in its tokens. */
  readonly groups: readonly string[];
  /** The tokens of the client credentials flow (RFC 6749, 4.4). */
  tokens(scope: string): Promise<{ access_token: string; id_token?: string }>;
  /** Ends the process. */
  pause(): Promise<void>;
  /** Starts it again after `pause`, with new signing keys. */
  resume(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts dex, a provider of OpenID Connect, on loopback. Its signing keys are in memory. */
export async function startDex(groups: readonly string[]): Promise<Dex> {
  if (!dex) throw new Error(dexMissing);
  const program = dex;
  const directory = tempDir("dex");
  const port = await getPort({ host: "127.0.0.1" });
  const issuer = `http://127.0.0.1:${port}/dex`;
  const secret = randomBytes(16).toString("hex");
  const config = join(directory, "dex.json");
  const client = { id: CLIENT, secret, name: CLIENT, grantTypes: ["client_credentials"] };
  writeFileSync(
    config,
    JSON.stringify({
      issuer,
      storage: { type: "memory" },
      web: { http: `127.0.0.1:${port}` },
      oauth2: { grantTypes: ["client_credentials"] },
      // dex needs a connector or this.
      enablePasswordDB: true,
      staticClients: [{ ...client, clientCredentialsClaims: { groups } }],
    }),
  );
  const start = async () => {
    const started = await startProcess(
      program,
      { args: ["serve", config], cwd: directory, env: {} },
      (output) => /listening on/.test(output) || undefined,
    );
    // dex logs that line before it listens.
    const answers = () =>
      fetch(`${issuer}/keys`).then(
        ({ ok }) => ok,
        () => false,
      );
    await waitFor("dex answers", answers);
    return started;
  };
  let { process: running } = await start().catch((error: unknown) => {
    removeDir(directory);
    throw error;
  });
  return {
    issuer,
    client: CLIENT,
    groups,
    async tokens(scope) {
      const reply = await fetch(`${issuer}/token`, {
        method: "POST",
        headers: {
          authorization: `Basic ${Buffer.from(`${CLIENT}:${secret}`).toString("base64")}`,
        },
        body: new URLSearchParams({ grant_type: "client_credentials", scope }),
      });
      const text = await reply.text();
      if (!reply.ok) throw new Error(`dex answered ${reply.status}: ${text}`);
      return JSON.parse(text);
    },
    async pause() {
      await running.stop();
    },
    async resume() {
      ({ process: running } = await start());
    },
    async stop() {
      await running.stop();
      removeDir(directory);
    },
  };
}
