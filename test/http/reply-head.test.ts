import { expect, it } from "vitest";
import { writeHead } from "../../src/http/reply.js";
import type { TransportResponse } from "../../src/http/transport/transport.js";

it.each([
  [404, "404 Not Found"],
  [422, "422 Unprocessable Entity"],
  [503, "503 Service Unavailable"],
])("a reply with the status %i has its reason phrase", (status, line) => {
  const lines: string[] = [];
  const res = { writeStatus: (text: string) => lines.push(text), writeHeader() {} };
  const writer = { res: res as unknown as TransportResponse, requestId: "1", standardHeaders: [] };
  writeHead(writer, status, undefined, undefined);
  expect(lines).toEqual([line]);
});
