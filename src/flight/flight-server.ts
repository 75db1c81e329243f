import { type FlightOptions, FlightServer } from "../engine/index.js";
import { addressError } from "../http/transport/address.js";
import { readCertificate } from "../http/transport/tls.js";
import type { TlsFiles } from "../http/transport/transport.js";
import type { FlightCalls } from "./flight-calls.js";

export interface FlightListenOptions {
  readonly host: string;
  /** 0: the system chooses one. */
  readonly port: number;
  readonly tls?: TlsFiles | undefined;
}

/** The Flight SQL server. It drains, stops and reloads its certificate as the HTTP server does. */
export class SqlServer {
  private constructor(
    private readonly server: FlightServer,
    private readonly tls: TlsFiles | undefined,
  ) {}

  /** @throws Error with one sentence that says why the address or the certificate is unusable */
  static async listen(
    { tls, ...options }: FlightListenOptions,
    calls: FlightCalls,
  ): Promise<SqlServer> {
    const listening: FlightOptions = {
      ...options,
      ...(tls && { certificate: readCertificate(tls) }),
    };
    try {
      const server = await FlightServer.listen(listening, calls.onEvent);
      return new SqlServer(server, tls);
    } catch (error) {
      const { message, internal } = error as Error & { internal?: string };
      const code = /^E[A-Z]+$/.test(message) ? message : (internal ?? message);
      throw addressError(options.host, options.port, code, "--sql-port");
    }
  }

  get port(): number {
    return this.server.port;
  }

  /** For new connections. @throws Error with one sentence if the files are unusable */
  async reloadTls(): Promise<void> {
    if (this.tls) await this.server.reload(readCertificate(this.tls));
  }

  beginDrain(): void {
    this.server.drain();
  }

  isIdle(): boolean {
    return this.server.isIdle();
  }

  /** Returns true if no call was in flight. */
  closeConnections(): boolean {
    return this.server.close();
  }
}
