/** Requests that no HTTP client sends: ambiguous lengths, broken chunks, broken heads, several requests at once. */
import type { Draw } from "./draw.js";

const METHODS = [
  "GET",
  "HEAD",
  "PUT",
  "DELETE",
  "PATCH",
  "OPTIONS",
  "TRACE",
  "CONNECT",
  "PRI",
  "get",
];
const UNKNOWN_METHODS = ["", "X".repeat(300), "PO ST", "\u0000", "PROPFIND", "M-SEARCH", "QUERY"];

const lengths: readonly (readonly string[])[] = [
  ["Content-Length: 2", "Content-Length: 40"],
  ["Content-Length: 2, 2"],
  ["Content-Length: +2"],
  ["Content-Length: -1"],
  ["Content-Length: 0x2"],
  ["Content-Length: 99999999999999999999"],
  ["Content-Length: 9007199254740993"],
  ["Content-Length:"],
  ["Content-Length : 2"],
  ["Content-Length: 5", "Transfer-Encoding: chunked"],
  ["Transfer-Encoding: chunked", "Content-Length: 5"],
  ["Transfer-Encoding: xchunked"],
  ["Transfer-Encoding: chunked, identity"],
  ["Transfer-Encoding: identity, chunked"],
  ["Transfer-Encoding:\u000bchunked"],
  ["Transfer-Encoding: chunked", "Transfer-Encoding: cow"],
  ["Transfer-Encoding: CHUNKED"],
  ["X: x\nTransfer-Encoding: chunked"],
  ["Expect: 100-continue", "Content-Length: 2"],
  ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: x", "Content-Length: 2"],
  ["Upgrade: h2c", "HTTP2-Settings: AAAA", "Connection: Upgrade, HTTP2-Settings"],
];

const chunks: readonly string[] = [
  "0\r\n\r\n",
  "2\r\n{}\r\n0\r\n\r\n",
  "2\r\n{}\r\n0\r\nX: y\r\n\r\n",
  "2;x=y\r\n{}\r\n0\r\n\r\n",
  "-2\r\n{}\r\n0\r\n\r\n",
  "ffffffffffffffffff\r\n{}\r\n0\r\n\r\n",
  "7fffffffffffffff\r\n{}",
  "2\r\n{}0\r\n\r\n",
  "2\n{}\n0\n\n",
  "g\r\n{}\r\n0\r\n\r\n",
  `2;${"x".repeat(20_000)}\r\n{}\r\n0\r\n\r\n`,
  "0002\r\n{}\r\n0\r\n\r\n",
  " 2\r\n{}\r\n0\r\n\r\n",
  "2\r\n{}\r\n",
  "1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
];

const targets = (path: string): readonly string[] => [
  path,
  "*",
  `http://other.example${path}`,
  "//other.example/v1/table",
  `${path}#fragment`,
  `${path} HTTP/1.1\r\nX: y`,
  `\t${path}`,
  `/${"a/".repeat(3_000)}`,
  `${path}?${"a=b&".repeat(5_000)}`,
  "/\u0000",
  "/\u00ff\u00fe",
  "/%",
  "/%zz",
  "?",
  "",
];

const versions = ["HTTP/1.1", "HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/9.9", "http/1.1", "", "x"];

const heads: readonly string[] = [
  "Host: x",
  "Host: x\r\nHost: y",
  "Host:",
  "Host: x\r\n folded",
  "Host: x\r\nNo colon",
  "Host: x\r\n: empty",
  "Host: x\r\nA\u0000: b",
  "Host: x\r\nA: \u0000\u0007",
  `Host: x\r\nA: ${"b".repeat(100_000)}`,
  `Host: x\r\n${Array.from({ length: 300 }, (_, at) => `H${at}: v`).join("\r\n")}`,
  "Host: x\nA: b",
  "Host: \u00e9\u0080",
  "Host: [::1",
];

/** A request with one fault in its framing, and another request behind it. */
export function brokenFraming(draw: Draw, path: string, authorization: string): Buffer[] {
  const line = (...words: string[]) => words.join(" ");
  const rest = `${authorization}Content-Type: application/json\r\n`;
  const next = `GET /v1/table HTTP/1.1\r\nHost: x\r\n${authorization}\r\n`;
  const latin = (text: string) => Buffer.from(text, "latin1");
  switch (draw.weighted({ length: 4, chunk: 4, target: 2, head: 2, method: 2, bytes: 1 })) {
    case "length": {
      const head = `${line("POST", path, "HTTP/1.1")}\r\nHost: x\r\n${rest}`;
      const body = draw.pick(["{}", "0\r\n\r\n", "{}  0\r\n\r\n", next]);
      return [latin(`${head}${draw.pick(lengths).join("\r\n")}\r\n\r\n${body}${next}`)];
    }
    case "chunk": {
      const head = `${line("POST", path, "HTTP/1.1")}\r\nHost: x\r\n${rest}`;
      const text = `${head}Transfer-Encoding: chunked\r\n\r\n${draw.pick(chunks)}`;
      return [latin(text), latin(draw.chance(0.5) ? next : "")];
    }
    case "target":
      return [
        latin(
          `${line("POST", draw.pick(targets(path)), draw.pick(versions))}\r\nHost: x\r\n${rest}Content-Length: 2\r\n\r\n{}`,
        ),
      ];
    case "head":
      return [
        latin(
          `${line("POST", path, "HTTP/1.1")}\r\n${draw.pick(heads)}\r\n${rest}Content-Length: 2\r\n\r\n{}`,
        ),
      ];
    case "method": {
      const method = draw.pick(draw.pick([METHODS, UNKNOWN_METHODS]));
      return [
        latin(
          `${line(method, path, draw.pick(versions))}\r\nHost: x\r\n${rest}Content-Length: 2\r\n\r\n{}`,
        ),
      ];
    }
    default:
      return [Buffer.from(draw.bytes(draw.below(400)))];
  }
}
