/** Failures that a real cluster does not make on demand. test/clients/ray has a real one. */
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { JobsApi } from "../../../src/jobs/ray/jobs-api.js";
import { newCertificate } from "../../harness/certificate.js";
import { tempDir } from "../../harness/temp.js";

const dir = tempDir("ray");
let server: Server | undefined;

afterEach(async () => {
  const closing = server;
  server = undefined;
  await new Promise((resolve) => (closing ? closing.close(resolve) : resolve(undefined)));
});

type Answer = (request: IncomingMessage) => [status: number, body: string];

/** The address of a server that answers like the Jobs API. */
async function listen(created: Server): Promise<number> {
  server = created;
  await new Promise<void>((resolve) => created.listen(0, "127.0.0.1", resolve));
  return (created.address() as AddressInfo).port;
}

async function serve(answer: Answer): Promise<string> {
  const created = createServer((request, reply) => {
    const [status, body] = answer(request);
    request.resume().on("end", () => reply.writeHead(status).end(body));
  });
  return `http://127.0.0.1:${await listen(created)}`;
}

it("sends the token that the file has now, and no headers of a browser", async () => {
  const tokens: (string | undefined)[] = [];
  const address = await serve(({ headers }) => {
    tokens.push(headers.authorization);
    // As Ray does.
    return headers["sec-fetch-mode"] ? [405, ""] : [200, "[]"];
  });
  const tokenFile = join(dir, "token");
  const api = new JobsApi({ address, tokenFile });
  for (const token of ["one", "two"]) {
    writeFileSync(tokenFile, `${token}\n`);
    expect(await api.list()).toEqual([]);
  }
  expect(tokens).toEqual(["Bearer one", "Bearer two"]);
});

it.each([401, 403])("a refused token (%i) is reported with what to do", async (status) => {
  const api = new JobsApi({ address: await serve(() => [status, "Unauthorized"]) });
  await expect(api.list()).rejects.toMatchObject({
    message: expect.stringMatching(/refused the token.*set --ray-token-file/),
    isTransient: false,
  });
});

it("a failure of Ray is reported with the last line of its traceback", async () => {
  const address = await serve(() => [500, "Traceback:\n  line\nValueError: it exists already\n"]);
  await expect(new JobsApi({ address }).find("a")).rejects.toMatchObject({
    message: `Ray at ${address} replied 500 to GET /api/jobs/a: ValueError: it exists already`,
    isTransient: true,
  });
});

it("a job that Ray does not know is absent, and its stop has no effect", async () => {
  const api = new JobsApi({ address: await serve(() => [404, "Job a does not exist"]) });
  expect(await api.find("a")).toBeUndefined();
  await expect(api.stop("a")).resolves.toBeUndefined();
});

it("a head that is away is reported as such", async () => {
  const address = await serve(() => [200, "[]"]);
  await new Promise((resolve) => server?.close(resolve));
  server = undefined;
  await expect(new JobsApi({ address }).list()).rejects.toMatchObject({
    message: `the Jobs API of Ray at ${address} cannot be reached (ECONNREFUSED)`,
    isTransient: true,
  });
});

it("an archive is uploaded once", async () => {
  const sent: string[] = [];
  const address = await serve(({ method, url }) => {
    sent.push(`${method} ${url}`);
    return [sent.includes("PUT /api/packages/gcs/a.zip") ? 200 : 404, ""];
  });
  const api = new JobsApi({ address });
  for (let n = 0; n < 2; n++) {
    expect(await api.upload("a.zip", () => Buffer.from("x"))).toBe("gcs://a.zip");
  }
  expect(sent.filter((one) => one.startsWith("PUT"))).toHaveLength(1);
});

it("HTTPS accepts the certificates of --ray-ca-file only", async () => {
  const files = newCertificate(dir, "localhost");
  const [cert, key] = [readFileSync(files.certFile, "utf8"), readFileSync(files.keyFile, "utf8")];
  const port = await listen(createTlsServer({ cert, key }, (_, reply) => reply.end("[]")));
  const address = `https://localhost:${port}`;
  expect(await new JobsApi({ address, ca: cert }).list()).toEqual([]);
  await expect(new JobsApi({ address }).list()).rejects.toThrow(/cannot be reached/);
});
