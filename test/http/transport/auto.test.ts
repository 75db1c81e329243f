import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { startServer } from "../../harness/server.js";

it(`the automatic transport answers every request: HTTP/1.0 of HAProxy's \`option httpchk GET /readyz\`, HTTP/1.1 without Host`, async () => {
  const server = await startServer({ args: ["--http", "auto"] });
  const answer = (request: string) => {
    const socket = connect(server.port, "127.0.0.1");
    socket.write(`${request}\r\n\r\n`);
    return text(socket);
  };
  try {
    // uWebSockets.js refuses HTTP/1.0, Node serves it.
    expect(await answer("GET /readyz HTTP/1.0")).toMatch(/^HTTP\/1\.1 (200|400|505) /);
    expect(await answer("GET /readyz HTTP/1.1")).toMatch(/^HTTP\/1\.1 400 /);
  } finally {
    await server.stop();
  }
});
