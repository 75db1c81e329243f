import { readFileSync, utimesSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { text } from "node:stream/consumers";
import type { TLSSocket } from "node:tls";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { TlsFiles } from "../../src/http/transport/transport.js";
import { copyPair, newCertificate } from "../harness/certificate.js";
import { type Server, startServer } from "../harness/server.js";
import { removeDir, tempDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";
import { waitForOutput } from "../harness/wait-for-output.js";

interface Answer {
  readonly status: number | undefined;
  readonly body: string;
  /** The common name in the certificate of this connection. */
  readonly certificate: string;
}

/** Sends a request on a new connection that trusts only the given certificates. */
function get(server: Server, path: string, trusted: readonly TlsFiles[]): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = {
      agent: false,
      ca: trusted.map(({ certFile }) => readFileSync(certFile)),
      // The certificates have no host name.
      checkServerIdentity: () => undefined,
      headers: { authorization: `Bearer ${server.key}` },
    };
    const sent = request(new URL(path, server.url), options, (answer) => {
      const { CN } = (answer.socket as TLSSocket).getPeerCertificate().subject;
      text(answer).then(
        (body) => resolve({ status: answer.statusCode, body, certificate: String(CN) }),
        reject,
      );
    });
    sent.once("error", reject).end();
  });
}

describe.each(["uws", "node"])("joust serve --http %s with a certificate", (http) => {
  let dir: string;
  let first: TlsFiles;
  let second: TlsFiles;
  let used: TlsFiles;
  let server: Server;

  beforeEach(async () => {
    dir = tempDir("tls");
    first = newCertificate(dir, "first");
    second = newCertificate(dir, "second");
    used = newCertificate(dir, "used");
    copyPair(first, used);
    const args = ["--tls-cert", used.certFile, "--tls-key", used.keyFile, "--http", http];
    server = await startServer({ args });
  });
  afterEach(async () => {
    await server.stop();
    removeDir(dir);
  });

  const certificate = async () => (await get(server, "/healthz", [first, second])).certificate;

  it("accepts HTTPS only", async () => {
    expect(server.url).toMatch(/^https:/);
    const tables = await get(server, "/v1/table", [first]);
    expect(tables).toMatchObject({ status: 200, certificate: "first" });
    expect(JSON.parse(tables.body)).toEqual({ tables: [] });
    await expect(get(server, "/v1/table", [second])).rejects.toThrow(/self.signed/);
    await expect(fetch(server.url.replace("https:", "http:"))).rejects.toThrow();
  });

  it("loads a new certificate when its files change and keeps the former one while they are invalid", async () => {
    writeFileSync(used.keyFile, readFileSync(second.keyFile));
    await waitForOutput(server, "the key belongs to another certificate");
    expect(await certificate()).toBe("first");
    writeFileSync(used.certFile, readFileSync(second.certFile));
    await waitFor("the new certificate is used", async () => (await certificate()) === "second");
  });
});

describe.each(["uws", "node"])("joust serve --http %s after SIGHUP", (http) => {
  it("reloads the certificate even if size and modification time are unchanged", async () => {
    const dir = tempDir("tls");
    const [first, second, used] = ["first", "second", "used"].map((name) =>
      newCertificate(dir, name),
    ) as [TlsFiles, TlsFiles, TlsFiles];
    const replace = (by: TlsFiles) => {
      copyPair(by, used);
      for (const file of [used.certFile, used.keyFile]) {
        writeFileSync(file, readFileSync(file, "utf8").padEnd(4096, "\n"));
        utimesSync(file, 1e9, 1e9);
      }
    };
    replace(first);
    const args = ["--tls-cert", used.certFile, "--tls-key", used.keyFile, "--http", http];
    const server = await startServer({ args });
    try {
      const certificate = async () => (await get(server, "/healthz", [first, second])).certificate;
      replace(second);
      expect(await certificate()).toBe("first");
      process.kill(server.pid, "SIGHUP");
      await waitFor("the new certificate is used", async () => (await certificate()) === "second");
      await waitForOutput(server, "reloaded the certificate for new connections");
    } finally {
      await server.stop();
      removeDir(dir);
    }
  });
});
