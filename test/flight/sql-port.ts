import type { Server } from "../harness/server.js";

/** The port of Flight SQL, which the server logs. */
export function sqlPort(server: Pick<Server, "output">): number {
  const [, port] = /"sqlPort":(\d+)/.exec(server.output()) ?? [];
  if (port === undefined) throw new Error("the server did not log the port of Flight SQL");
  return Number(port);
}
