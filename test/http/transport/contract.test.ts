import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { transportOf } from "../../../src/http/transport/open.js";
import type { RequestHandler, Transport } from "../../../src/http/transport/transport.js";
import { waitFor } from "../../harness/wait-for.js";

const opened: Transport[] = [];

afterEach(() => {
  for (const transport of opened.splice(0)) transport.close();
});

describe.each(["uws", "node"] as const)("the transport %s", (choice) => {
  async function listening(handle: RequestHandler): Promise<number> {
    const transport = transportOf(choice).open(handle);
    opened.push(transport);
    return transport.listen("127.0.0.1", 0, false);
  }

  const ask = async (port: number, path: string, body?: string, method = "POST") => {
    const req = httpRequest({ port, host: "127.0.0.1", path, method, agent: false });
    req.setHeader("X-Twice", ["a", "b"]);
    req.end(body);
    const [res] = (await once(req, "response")) as [IncomingMessage];
    return res;
  };

  it("passes on method, path, query and every header", async () => {
    const seen: unknown[] = [];
    const port = await listening((res, req) => {
      const headers: string[] = [];
      req.forEach((name, value) => {
        if (name === "x-twice") headers.push(value);
      });
      seen.push([req.getMethod(), req.getUrl(), req.getQuery() ?? "", headers.join()]);
      res.end("ok");
    });
    expect(await text(await ask(port, "/a%20b?c=%41", undefined, "GET"))).toBe("ok");
    expect(await text(await ask(port, "/a", undefined, "GET"))).toBe("ok");
    const headers = expect.stringMatching(/^a, ?b$|^a,b$/);
    expect(seen).toEqual([
      ["get", "/a%20b", "c=%41", headers],
      ["get", "/a", "", headers],
    ]);
  });

  it("sends status, headers and a body with its length", async () => {
    const port = await listening((res) => {
      res.writeStatus("404 Not Found");
      res.writeHeader("x-one", "1");
      res.end("nothing here");
    });
    const res = await ask(port, "/");
    expect([res.statusCode, res.statusMessage, res.headers["x-one"]]).toEqual([
      404,
      "Not Found",
      "1",
    ]);
    expect(res.headers["content-length"]).toBe("12");
    expect(await text(res)).toBe("nothing here");
  });

  it("sends no body for HEAD and 204", async () => {
    const port = await listening((res, req) => {
      if (req.getMethod() === "head") res.writeHeader("content-length", "77");
      else res.writeStatus("204 No Content");
      res.endWithoutBody();
    });
    const head = await ask(port, "/", undefined, "HEAD");
    expect([head.statusCode, head.headers["content-length"]]).toEqual([200, "77"]);
    const empty = await ask(port, "/", undefined, "GET");
    expect([empty.statusCode, empty.headers["content-length"]]).toEqual([204, undefined]);
  });

  it("closes the connection after a response that says so", async () => {
    const port = await listening((res) => {
      res.end("bye", true);
    });
    const socket = connect(port, "127.0.0.1");
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    expect(await text(socket)).toMatch(/connection: close[\s\S]*bye$/i);
  });

  it("delivers a body completely and signals its end", async () => {
    const port = await listening((res) => {
      let bytes = 0;
      res.onAborted(() => {});
      res.onData((chunk, isLast) => {
        bytes += chunk.byteLength;
        if (isLast) res.end(String(bytes));
      });
    });
    expect(await text(await ask(port, "/", "x".repeat(300_000)))).toBe("300000");
    expect(await text(await ask(port, "/"))).toBe("0");
  });

  it("reads nothing of a paused body until it is resumed", async () => {
    let bytes = 0;
    const resume: (() => void)[] = [];
    const port = await listening((res) => {
      res.onAborted(() => {});
      res.onData((chunk, isLast) => {
        const first = bytes === 0;
        bytes += chunk.byteLength;
        if (first) {
          res.pause();
          resume.push(() => res.resume());
        }
        if (isLast) res.cork(() => res.end("all"));
      });
    });
    const answered = ask(port, "/", "x".repeat(20_000_000)).then(text);
    await waitFor("the body is paused", () => resume.length === 1);
    await delay(200);
    expect(bytes).toBeLessThan(1_000_000);
    resume[0]?.();
    expect(await answered).toBe("all");
    expect(bytes).toBe(20_000_000);
  });

  it("reports once that the client disconnected before the response", async () => {
    let aborts = 0;
    const port = await listening((res) => {
      res.onAborted(() => {
        aborts += 1;
      });
    });
    const socket = connect(port, "127.0.0.1");
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    await delay(50);
    socket.destroy();
    await waitFor("the abort is reported", () => aborts > 0);
    expect(aborts).toBe(1);
  });

  it("reports the disconnect to each pipelined request", async () => {
    let begun = 0;
    let aborts = 0;
    const port = await listening((res) => {
      begun += 1;
      res.onAborted(() => {
        aborts += 1;
      });
      res.onData(() => {});
    });
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc");
    // uWebSockets.js closes the connection at the second request.
    await waitFor("the requests begin", () => begun === (choice === "node" ? 2 : 1));
    socket.destroy();
    await waitFor("the aborts are reported", () => aborts === begun, { timeoutMs: 5_000 });
    await delay(50);
    expect(aborts).toBe(begun);
  });

  it("calls the abort handler when the server drops the connection", async () => {
    let aborts = 0;
    const port = await listening((res) => {
      res.onAborted(() => {
        aborts += 1;
      });
      setImmediate(() => res.close());
    });
    await expect(ask(port, "/")).rejects.toThrow();
    expect(aborts).toBe(1);
  });

  it("sends a body of known length as fast as the client reads", async () => {
    const body = Buffer.alloc(30_000_000, "abcdefgh");
    let done = false;
    const port = await listening((res) => {
      let ok = false;
      res.onAborted(() => {});
      const sendFrom = (offset: number) => {
        res.cork(() => {
          [ok, done] = res.tryEnd(body.subarray(offset), body.byteLength);
        });
        return ok;
      };
      if (!sendFrom(0)) res.onWritable(sendFrom);
    });
    const res = await ask(port, "/");
    await delay(300);
    // The client has read next to nothing: the rest is still in the server.
    expect(done).toBe(false);
    const chunks: Buffer[] = [];
    for await (const chunk of res) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).equals(body)).toBe(true);
    await waitFor("the answer is finished", () => done);
  });

  it("reports when the socket is full and when it accepts more", async () => {
    let written = 0;
    let ended = false;
    const total = 1_000;
    const piece = Buffer.alloc(16_000, 1);
    const port = await listening((res) => {
      res.onAborted(() => {});
      const send = () => {
        while (written < total) {
          written += 1;
          let took = false;
          res.cork(() => {
            took = res.write(piece);
          });
          if (!took) return true;
        }
        if (!ended) {
          ended = true;
          res.cork(() => res.end());
        }
        return true;
      };
      res.onWritable(send);
      send();
    });
    const res = await ask(port, "/");
    await delay(300);
    expect(written).toBeLessThan(total);
    let bytes = 0;
    for await (const chunk of res) bytes += (chunk as Buffer).byteLength;
    expect(bytes).toBe(total * piece.byteLength);
  });

  it("keeps open connections when it stops listening", async () => {
    const port = await listening((res) => {
      res.end("still here");
    });
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    await delay(50);
    opened[0]?.stopListening();
    await expect(ask(port, "/")).rejects.toThrow(/ECONNREFUSED/);
    socket.end("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    const [answer] = await once(socket, "data");
    expect(String(answer)).toContain("still here");
  });

  it("fails on a port that is in use", async () => {
    const port = await listening((res) => {
      res.end();
    });
    const transport = transportOf(choice).open(() => {});
    opened.push(transport);
    await expect(transport.listen("127.0.0.1", port, false)).rejects.toThrow(
      `cannot listen on 127.0.0.1:${port}: the port is in use: choose another --port, or stop the program that listens on it`,
    );
  });
});
