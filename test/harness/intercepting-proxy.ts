import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface InterceptingProxy {
  readonly url: string;
  /** Holds matching requests until `release`. */
  hold(matches: (method: string, path: string) => boolean): void;
  /** Number of held requests. */
  held(): number;
  /** Forwards the next matching request and drops the connection instead of the response. */
  dropResponse(matches: (method: string, path: string) => boolean): void;
  /** Number of dropped responses. */
  droppedResponses(): number;
  /** Forwards the held and all later requests. */
  release(): void;
  stop(): Promise<void>;
}

/** An HTTP proxy that forwards requests unchanged, signed headers included. */
export async function startInterceptingProxy(target: string): Promise<InterceptingProxy> {
  const { hostname, port } = new URL(target);
  let matches = (_method: string, _path: string): boolean => false;
  let waiting: (() => void)[] = [];
  let drops: typeof matches | undefined;
  let lost = 0;

  const pass = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const { method, url: path, headers } = incoming;
    const loseThis = drops?.(method ?? "", path ?? "") ?? false;
    if (loseThis) drops = undefined;
    const onward = request({ hostname, port, method, path, headers }, (answer) => {
      if (loseThis) {
        lost++;
        outgoing.destroy();
        return;
      }
      outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(outgoing);
    });
    onward.on("error", () => outgoing.destroy());
    incoming.pipe(onward);
  };
  const server = createServer((incoming, outgoing) => {
    if (matches(incoming.method ?? "", incoming.url ?? "")) {
      waiting.push(() => pass(incoming, outgoing));
    } else pass(incoming, outgoing);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

  const release = (): void => {
    matches = () => false;
    for (const go of waiting) go();
    waiting = [];
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hold(which) {
      matches = which;
    },
    held: () => waiting.length,
    dropResponse(which) {
      drops = which;
    },
    droppedResponses: () => lost,
    release,
    stop() {
      release();
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
