import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { sharesPorts } from "../../src/http/transport/node/transport.js";
import { items } from "../harness/arrow.js";
import { copyPair, newCertificate } from "../harness/certificate.js";
import { runCli } from "../harness/cli.js";
import { Client } from "../harness/client.js";
import { FlightClient } from "../harness/flight-client.js";
import { startServer } from "../harness/server.js";
import { startServerForTest } from "../harness/setup-server.js";
import { tempDir } from "../harness/temp.js";
import { waitForOutput } from "../harness/wait-for-output.js";
import { sqlPort } from "./sql-port.js";

const transport = process.env.JOUST_TEST_HTTP ?? "auto";

/** Only Linux, and Node's own transport from Node 22.12 on, share a port among threads. */
const hasThreads = process.platform === "linux" && (transport !== "node" || sharesPorts());
const threadCounts = hasThreads ? ["1", "2"] : ["1"];

/** A port that is in use until the test ends. */
async function portInUse(): Promise<{ port: number; release(): Promise<void> }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return { port, release: () => new Promise((resolve) => server.close(() => resolve())) };
}

describe("--sql-port", () => {
  it("is a free port that the server logs if --port is 0", async () => {
    const server = await startServerForTest();
    expect(sqlPort(server)).toBeGreaterThan(0);
    expect(sqlPort(server)).not.toBe(server.port);
  });

  it("0 disables Flight SQL", async () => {
    const server = await startServerForTest({ args: ["--sql-port", "0"] });
    expect(server.output()).not.toContain("Flight SQL");
    const { text } = await server.client.request("/metrics", { method: "GET" });
    expect(text).not.toContain("joust_flight");
  });

  it.each(threadCounts)(
    "in use ends the start with one sentence, with %s HTTP threads",
    async (threads) => {
      const { port, release } = await portInUse();
      const http = ["--http", transport, "--http-threads", threads];
      const ports = ["--port", "0", "--sql-port", String(port)];
      const args = ["serve", tempDir("root"), ...ports, ...http, "--log-level", "warn"];
      const { code, err } = await runCli(args);
      await release();
      expect(err).toBe(
        `joust: cannot listen on 127.0.0.1:${port}: the port is in use: choose another --sql-port, or stop the program that listens on it\n`,
      );
      expect(code).toBe(1);
    },
  );
});

describe("a server that stops", () => {
  it("finishes the rows that it sends", async () => {
    const server = await startServer();
    await server.client.createTable("t", items(200_000));
    const flight = new FlightClient(`http://127.0.0.1:${sqlPort(server)}`, server.key);
    let stopped: Promise<number | null> | undefined;
    const table = await flight.sql("SELECT * FROM t", {
      onMessage: () => {
        stopped ??= server.stop();
        return true;
      },
    });
    expect(table.numRows).toBe(200_000);
    expect(await stopped).toBe(0);
    flight.close();
  });
});

describe("TLS", () => {
  it("uses the certificate of HTTPS, also after a reload", async () => {
    const dir = tempDir("flight-tls");
    const used = newCertificate(dir, "localhost");
    const former = readFileSync(used.certFile);
    const { certFile, keyFile } = used;
    const server = await startServerForTest({
      args: ["--tls-cert", certFile, "--tls-key", keyFile, "--host", "localhost"],
    });
    const url = `https://localhost:${sqlPort(server)}`;
    const query = async (ca: Buffer) => {
      const flight = new FlightClient(url, server.key, ca);
      try {
        return (await flight.sql("SELECT 1 AS one")).numRows;
      } finally {
        flight.close();
      }
    };
    expect(await query(former)).toBe(1);
    copyPair(newCertificate(dir, "other"), used);
    process.kill(server.pid, "SIGHUP");
    await waitForOutput(server, "reloaded the certificate");
    await expect(query(former)).rejects.toThrow();
  });

  it("refuses plaintext", async () => {
    const dir = tempDir("flight-tls");
    const { certFile, keyFile } = newCertificate(dir, "localhost");
    const server = await startServerForTest({
      args: ["--tls-cert", certFile, "--tls-key", keyFile],
    });
    const flight = new FlightClient(`http://127.0.0.1:${sqlPort(server)}`, server.key);
    await expect(flight.sql("SELECT 1")).rejects.toThrow();
    flight.close();
  });
});

it("--auth none needs no key", async () => {
  const server = await startServerForTest({ args: ["--auth", "none"], key: null });
  expect(server.client).toBeInstanceOf(Client);
  const flight = new FlightClient(`http://127.0.0.1:${sqlPort(server)}`, "");
  expect((await flight.sql("SELECT 1 AS one")).numRows).toBe(1);
  flight.close();
});
