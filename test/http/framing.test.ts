import { beforeEach, describe, expect, it } from "vitest";
import { exchangeRaw, head } from "../harness/socket.js";
import { plain, setupSmallServer } from "./small-server.js";

const asked: string[] = [];
const echo = plain(
  { id: "Echo", path: "/v1/thing/{id}/echo", methods: ["GET", "POST"] },
  ({ id }) => {
    asked.push(id.join());
    return { kind: "json", value: { id } };
  },
);
const later = plain(
  { id: "Later", path: "/v1/thing/{id}/later", methods: ["GET"] },
  async ({ id }) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return { kind: "json", value: { id } };
  },
);
const small = setupSmallServer({ operations: [echo, later] });

beforeEach(() => {
  asked.length = 0;
});

const first = (...lines: string[]) =>
  head("POST /v1/thing/first/echo HTTP/1.1", "Host: x", ...lines);
const next = head("GET /v1/thing/next/echo HTTP/1.1", "Host: x");
const statuses = (text: string) =>
  [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map((one) => Number(one[1]));

const emptyChunk = "0\r\n\r\n";

describe("a request with ambiguous framing", () => {
  it.each([
    ["two lengths", ["Content-Length: 2", "Content-Length: 40"], "{}"],
    ["the same length twice", ["Content-Length: 2", "Content-Length: 2"], "{}"],
    ["a list of lengths", ["Content-Length: 2, 2"], "{}"],
    ["a length with a sign", ["Content-Length: +2"], "{}"],
    ["a hexadecimal length", ["Content-Length: 0x2"], "{}"],
    ["a length that is not a number", ["Content-Length: two"], "{}"],
    ["an empty length", ["Content-Length:"], ""],
    ["a length beyond 15 digits", ["Content-Length: 99999999999999999999"], "{}"],
    ["another encoding", ["Transfer-Encoding: xchunked"], emptyChunk],
    ["an encoding below chunked", ["Transfer-Encoding: identity, chunked"], emptyChunk],
    ["chunks twice", ["Transfer-Encoding: chunked, chunked"], emptyChunk],
    ["the identity encoding", ["Transfer-Encoding: identity"], "{}"],
    ["two encodings", ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"], emptyChunk],
    [
      "two encodings in reverse order",
      ["Transfer-Encoding: identity", "Transfer-Encoding: chunked"],
      emptyChunk,
    ],
  ])("gets 400 and none of its later bytes is parsed as a request: %s", async (_, lines, body) => {
    const { text, closed } = await exchangeRaw(small.url, [next + first(...lines) + body + next]);
    expect(statuses(text)).toEqual([200, 400]);
    expect(closed).toBe(true);
    expect(text).toMatch(/connection: close/i);
    const problem = JSON.parse(text.slice(text.lastIndexOf("\r\n\r\n")));
    expect(problem).toMatchObject({ status: 400, code: 13 });
    // Node's parser refuses some of these before joust knows the path.
    const byParser = /not well-formed HTTP/.test(problem.detail);
    expect(problem.instance).toBe(byParser ? "" : "/v1/thing/first/echo");
    expect(problem.detail).toMatch(/`(Content-Length|Transfer-Encoding)`|not well-formed HTTP/i);
    expect(asked).toEqual(["next"]);
  });

  it("gets 400 if the next request arrives in another packet", async () => {
    const parts = [first("Content-Length: 2", "Content-Length: 40"), "{}", next];
    const { text, closed } = await exchangeRaw(small.url, parts);
    expect([statuses(text), closed, asked]).toEqual([[400], true, []]);
  });

  it("gets 400 or a closed connection if it has both a length and an encoding", async () => {
    const lines = first("Content-Length: 5", "Transfer-Encoding: chunked");
    const { text, closed } = await exchangeRaw(small.url, [lines + emptyChunk + next]);
    // uWebSockets.js 20.30 closes the connection before joust sees the request.
    expect([[], [400]]).toContainEqual(statuses(text));
    expect([closed, asked]).toEqual([true, []]);
  });

  it.each([
    ["a folded header line", ["X-A: a", " b"]],
    ["a blank before the colon", ["Content-Length : 2"]],
    ["a NUL in a header name", ["Content\u0000Length: 2"]],
  ])("never reaches a handler: %s", async (_, lines) => {
    const { text } = await exchangeRaw(small.url, [`${first(...lines)}{}${next}`], 300);
    expect([[], [400]]).toContainEqual(statuses(text));
    expect(asked).toEqual([]);
  });

  it("does not include the encoding `CHUNKED` or a length with leading zeros", async () => {
    const chunked = first("Transfer-Encoding: CHUNKED", "Content-Type: application/json");
    const answers = await exchangeRaw(small.url, [`${chunked}2\r\n{}\r\n${emptyChunk}`], 300);
    expect(statuses(answers.text)).toEqual([200]);
    const padded = await exchangeRaw(small.url, [`${first("Content-Length: 0002")}{}`], 300);
    expect(statuses(padded.text)).toEqual([200]);
  });
});

it("a request with two Host headers gets 400", async () => {
  const { text, closed } = await exchangeRaw(small.url, [first("Host: y") + next]);
  expect([statuses(text), closed, asked]).toEqual([[400], true, []]);
  expect(text).toContain("`host` occurs more than once");
});

describe("pipelined requests", () => {
  const requests = (name: string, count: number) =>
    Array.from({ length: count }, (_, at) =>
      head(`GET /v1/thing/${at}/${name} HTTP/1.1`, "Host: x"),
    ).join("");
  const ids = (text: string) =>
    [...text.matchAll(/{"id":\["(\d+)"\]}/g)].map((one) => Number(one[1]));

  it("get their responses in order when each request completes at once", async () => {
    const { text } = await exchangeRaw(small.url, [requests("echo", 100)], 300);
    expect(ids(text)).toEqual(Array.from({ length: 100 }, (_, at) => at));
  });

  it("that are still running end the connection, and no response is out of order", async () => {
    const { text, closed } = await exchangeRaw(small.url, [requests("later", 3)]);
    const answered = ids(text);
    expect(answered).toEqual([0, 1, 2].slice(0, answered.length));
    // uWebSockets.js 20.30 closes a connection whose next request arrives before the answer.
    expect(closed || answered.length === 3).toBe(true);
  });
});
