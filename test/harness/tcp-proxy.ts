import { connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** Connections to a server of this host, which a test can break. Ends with the test. */
export class TcpProxy {
  /** The next connection that sends a request with this text breaks: the reply is lost. */
  cutAfter: string | undefined;
  /** No byte passes, as with a network that is down. */
  isFrozen = false;

  private constructor(readonly port: number) {}

  static async start(target: number): Promise<TcpProxy> {
    const sockets = new Set<Socket>();
    const server = createServer((client) => {
      const upstream = connect(target, "127.0.0.1");
      for (const [socket, other] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        sockets.add(socket);
        socket.on("error", () => other.destroy());
        socket.on("close", () => {
          sockets.delete(socket);
          other.destroy();
        });
      }
      upstream.on("data", (data) => {
        if (!proxy.isFrozen) client.write(data);
      });
      client.on("data", (data) => {
        if (proxy.isFrozen) return;
        upstream.write(data);
        if (proxy.cutAfter && data.includes(proxy.cutAfter)) {
          proxy.cutAfter = undefined;
          client.destroy();
        }
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const proxy = new TcpProxy((server.address() as { port: number }).port);
    onTestFinished(() => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
    return proxy;
  }
}
