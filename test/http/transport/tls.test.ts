import { once } from "node:events";
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { transportOf } from "../../../src/http/transport/open.js";
import { certificateWatch } from "../../../src/http/transport/tls.js";
import type { TlsFiles, Transport } from "../../../src/http/transport/transport.js";
import { copyPair, newCertificate } from "../../harness/certificate.js";
import { removeDir, tempDir } from "../../harness/temp.js";
import { waitFor } from "../../harness/wait-for.js";

let dir: string;
const opened: Transport[] = [];

beforeAll(() => {
  dir = tempDir("tls");
});
afterEach(() => {
  for (const transport of opened.splice(0)) transport.close();
});
afterAll(() => removeDir(dir));

const certificate = (name: string) => newCertificate(dir, name);

async function connected(port: number): Promise<TLSSocket> {
  const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
  await once(socket, "secureConnect");
  return socket;
}

const commonName = (socket: TLSSocket) => socket.getPeerCertificate().subject.CN;

async function answer(socket: TLSSocket): Promise<string> {
  socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  const [chunk] = await once(socket, "data");
  return String(chunk);
}

describe.each(["uws", "node"] as const)("TLS with the transport %s", (choice) => {
  const listening = async (files: TlsFiles) => {
    const transport = transportOf(choice).open((res) => void res.end("over TLS"), files);
    opened.push(transport);
    return { transport, port: await transport.listen("127.0.0.1", 0, false) };
  };

  it("answers over HTTPS", async () => {
    const { port } = await listening(certificate("first"));
    const socket = await connected(port);
    expect(commonName(socket)).toBe("first");
    expect(await answer(socket)).toContain("over TLS");
    socket.destroy();
  });

  it("uses a new certificate for new connections and keeps the open ones", async () => {
    const used = certificate("used");
    copyPair(certificate("before"), used);
    const { transport, port } = await listening(used);
    const open = await connected(port);
    copyPair(certificate("after"), used);
    await transport.reloadTls();
    const fresh = await connected(port);
    expect([commonName(open), commonName(fresh)]).toEqual(["before", "after"]);
    expect(await answer(open)).toContain("over TLS");
    expect(await answer(fresh)).toContain("over TLS");
    open.destroy();
    fresh.destroy();
  });

  it("keeps the former certificate if the new files cannot be used", async () => {
    const used = certificate("good");
    const { transport, port } = await listening(used);
    copyFileSync(certificate("other").keyFile, used.keyFile);
    await expect(transport.reloadTls()).rejects.toThrow(
      "--tls-cert and --tls-key cannot be used: the key belongs to another certificate: give the files of one pair",
    );
    const socket = await connected(port);
    expect(commonName(socket)).toBe("good");
    socket.destroy();
  });

  it("rejects files without a certificate and key", () => {
    const { certFile, keyFile } = certificate("whole");
    const text = join(dir, "text");
    writeFileSync(text, "not PEM");
    const open = (files: TlsFiles) => () => transportOf(choice).open(() => {}, files);
    expect(open({ certFile: text, keyFile })).toThrow(/must be in PEM format/);
    expect(open({ certFile: join(dir, "none"), keyFile })).toThrow(
      /^--tls-cert \S+: the file does not exist: give the path of a PEM file$/,
    );
    expect(open({ certFile, keyFile: dir })).toThrow(
      /^--tls-key \S+: it is a directory: give the path of a PEM file$/,
    );
  });
});

it("a replaced certificate file is noticed", async () => {
  const used = certificate("watched");
  let changes = 0;
  const unwatch = certificateWatch(used).start(() => {
    changes += 1;
  });
  copyPair(certificate("next"), used);
  await waitFor("the change is noticed", () => changes > 0);
  unwatch();
});
