import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import { expectFailure } from "../harness/expect-failure.js";
import { setupServer } from "../harness/setup-server.js";
import { createRequest, head, sendRaw } from "../harness/socket.js";
import { waitFor } from "../harness/wait-for.js";

const joust = setupServer({ args: ["--max-upload-bytes", "4MiB", "--max-json-bytes", "1MiB"] });
const auth = () => `Authorization: Bearer ${joust.server.key}`;
const exists = async (name: string) =>
  (await joust.client.post(`/v1/table/${name}/exists`)).status === 200;

describe("an Arrow body", () => {
  it("may arrive in chunks of any size, without a length or a content type", async () => {
    const bytes = items(100);
    const ends = [1, 8, 108, 4204, bytes.length];
    const cut = ends.map((end, at) => bytes.subarray(ends[at - 1] ?? 0, end));
    const chunks = cut.flatMap((part) => [`${part.length.toString(16)}\r\n`, part, "\r\n"]);
    const answer = await sendRaw(joust.server.url, [
      head(
        "POST /v1/table/chunked/create HTTP/1.1",
        "Host: x",
        auth(),
        "Transfer-Encoding: chunked",
      ),
      ...chunks,
      "0\r\n\r\n",
    ]);
    expect(answer?.status, answer?.body).toBe(200);
    expect(await joust.client.count("chunked")).toBe(100);
  });

  it("survives a client that pauses for longer than the socket timeout", async () => {
    const bytes = items(1000);
    const socket = connect(joust.server.port, "127.0.0.1");
    let answer = "";
    socket.on("data", (chunk) => {
      answer += chunk;
    });
    socket.write(
      head(
        "POST /v1/table/patient/create HTTP/1.1",
        "Host: x",
        auth(),
        `Content-Length: ${bytes.length}`,
      ),
    );
    socket.write(bytes.subarray(0, 500));
    await sleep(15_000);
    socket.write(bytes.subarray(500));
    await waitFor("the answer", async () => answer.startsWith("HTTP/1.1 200"));
    socket.destroy();
  }, 30_000);

  it("is rejected with another content type", async () => {
    const answer = await joust.client.request("/v1/table/typed/create", {
      body: items(1),
      headers: { "content-type": "text/csv" },
    });
    expectFailure(answer, 415, 13, /application\/vnd\.apache\.arrow\.stream/);
    expect(await exists("typed")).toBe(false);
  });

  it("over the size limit is rejected and leaves no table", async () => {
    const answer = await joust.client.post("/v1/table/large/create", items(200_000));
    expectFailure(
      answer,
      413,
      13,
      /larger than 4194304 bytes, the limit that `--max-upload-bytes` sets/,
    );
    expect(await exists("large")).toBe(false);
    expect((await joust.client.post("/v1/table/large/create", items(10))).status).toBe(200);
  });

  it("that is not Arrow is rejected and leaves no table", async () => {
    for (const body of [
      new Uint8Array(0),
      new Uint8Array(10_000).fill(65),
      items(10).subarray(0, 300),
    ]) {
      const answer = await joust.client.post("/v1/table/garbage/create", body);
      expectFailure(answer, 400, 13);
      expect(await exists("garbage")).toBe(false);
    }
  });

  it("that is cut off leaves no table", async () => {
    const bytes = items(10_000);
    const socket = connect(joust.server.port, "127.0.0.1");
    socket.write(
      head(
        "POST /v1/table/broken/create HTTP/1.1",
        "Host: x",
        auth(),
        `Content-Length: ${bytes.length}`,
      ),
    );
    socket.write(bytes.subarray(0, bytes.length - 100));
    await sleep(200);
    socket.destroy();
    await waitFor("the name is free again", async () => {
      const answer = await joust.client.post("/v1/table/broken/create", items(5));
      return answer.status === 200;
    });
    expect(await joust.client.count("broken")).toBe(5);
  });

  it("that is not needed is read to its end before the response", async () => {
    const bytes = items(20_000);
    const cases: [string, string, number][] = [
      ["/v1/table/missing/insert", auth(), 404],
      ["/v1/table/a$$b/create", auth(), 400],
      ["/v1/nothing/here", auth(), 404],
      ["/v1/table/other/create", "X-Api-Key: wrong", 401],
      ["/v1/table/other/describe", auth(), 415],
    ];
    for (const [path, key, status] of cases) {
      // The client sends everything before it reads; a server that closes early would break this.
      const answer = await sendRaw(
        joust.server.url,
        [
          head(
            `POST ${path} HTTP/1.1`,
            "Host: x",
            key,
            "Content-Type: application/vnd.apache.arrow.stream",
            `Content-Length: ${bytes.length}`,
          ),
          bytes,
        ],
        500,
      );
      expect(answer?.status, path).toBe(status);
    }
  });

  it("is discarded if create finds an existing table with exist_ok", async () => {
    await joust.client.createTable("there", items(10));
    const answer = await joust.client.post("/v1/table/there/create", items(5_000), {
      mode: "exist_ok",
    });
    expect(answer.status, answer.text).toBe(200);
    expect(await joust.client.count("there")).toBe(10);
  });
});

describe("a JSON body", () => {
  it("over the size limit is rejected even if the engine decodes it", async () => {
    await joust.client.createTable("asked", items(10));
    const vector = Array.from({ length: 400_000 }, () => 0.5);
    const body = { k: 1, vector: { single_vector: vector } };
    const answer = await joust.client.post("/v1/table/asked/query", body);
    expectFailure(answer, 413, 13, /--max-json-bytes/);
  });
});

describe("a client that disconnects", () => {
  it("during an upload leaves no partial table", async () => {
    const request = createRequest("gone", joust.server.key, items(2_000));
    for (let length = 1; length < request.length; length += Math.ceil(request.length / 40)) {
      const socket = connect(joust.server.port, "127.0.0.1");
      socket.on("error", () => {});
      await new Promise<void>((resolve) =>
        socket.write(request.subarray(0, length), () => resolve()),
      );
      if (length % 2 === 0) socket.resetAndDestroy();
      else socket.destroy();
    }
    expect((await joust.client.get("/healthz")).status).toBe(200);
    await waitFor("no half table is left", async () => !(await exists("gone")));
  });
});
