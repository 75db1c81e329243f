import { FlightCalls, type FlightDependencies } from "../flight/flight-calls.js";
import { SqlServer } from "../flight/flight-server.js";

/** Starts the Flight SQL server; undefined if `--sql-port` is 0. `httpPort`: the port of the HTTP server. */
export async function listenFlight(
  dependencies: FlightDependencies,
  httpPort: number,
): Promise<SqlServer | undefined> {
  const { config, log } = dependencies.services;
  if (config.sqlPort === 0) return undefined;
  // With a free port for HTTP, the next one may be in use.
  const following = config.port === 0 ? 0 : httpPort + 1;
  const options = { host: config.host, port: config.sqlPort ?? following, tls: config.tls };
  const server = await SqlServer.listen(options, new FlightCalls(dependencies));
  log.info({ sqlPort: server.port }, "Flight SQL listens");
  return server;
}
