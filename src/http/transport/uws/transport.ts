import { createServer } from "node:net";
import { addressError } from "../address.js";
import { readCertificate } from "../tls.js";
import type { RequestHandler, TlsFiles, Transport } from "../transport.js";
import type { Uws, UwsApp, UwsListenSocket } from "./types.js";

/** HTTP/1.1 with uWebSockets.js: the faster transport. */
export class UwsTransport implements Transport {
  /** The last app accepts new connections. Earlier apps serve connections with a former certificate. */
  readonly #apps: UwsApp[];
  #listening: UwsListenSocket | undefined;
  #address: { host: string; port: number } | undefined;

  constructor(
    private readonly uws: Uws,
    private readonly handle: RequestHandler,
    private readonly tls?: TlsFiles,
  ) {
    this.#apps = [this.#open()];
  }

  async listen(host: string, port: number, shared: boolean): Promise<number> {
    this.#listening = await this.#bind(host, port, shared);
    const bound = this.uws.us_socket_local_port(this.#listening);
    this.#address = { host, port: bound };
    if (this.tls && !shared) {
      // The unshared `listen` has shown that the port is free. Share it now, so that `reloadTls` can.
      this.stopListening();
      this.#listening = await this.#bind(host, bound, true);
    }
    return bound;
  }

  stopListening(): void {
    if (this.#listening) this.uws.us_listen_socket_close(this.#listening);
    this.#listening = undefined;
  }

  close(): void {
    this.stopListening();
    for (const app of this.#apps) app.close();
  }

  /**
   * uWebSockets.js cannot replace the certificate of an app. A second app with the new certificate takes
   * over the port. Open connections stay with the former app.
   */
  async reloadTls(): Promise<void> {
    if (!this.tls || !this.#address || !this.#listening) return;
    const { host, port } = this.#address;
    this.#apps.push(this.#open());
    const former = this.#listening;
    this.#listening = await this.#bind(host, port, true);
    this.uws.us_listen_socket_close(former);
  }

  #open(): UwsApp {
    const { tls } = this;
    if (!tls) return this.uws.App().any("/*", this.handle);
    // The error of uWebSockets.js has no reason.
    readCertificate(tls);
    const files = { cert_file_name: tls.certFile, key_file_name: tls.keyFile };
    return this.uws.SSLApp(files).any("/*", this.handle);
  }

  /** Lets the newest app listen. */
  #bind(host: string, port: number, shared: boolean): Promise<UwsListenSocket> {
    const mode = shared ? 0 : this.uws.LIBUS_LISTEN_EXCLUSIVE_PORT;
    return new Promise((resolve, reject) => {
      this.#apps.at(-1)?.listen(host, port, mode, (socket) => {
        if (socket) resolve(socket);
        else listenError(host, port).then(reject, reject);
      });
    });
  }
}

/** Finds out why the system refuses an address: uWebSockets.js does not report the reason. */
async function listenError(host: string, port: number): Promise<Error> {
  const code = await new Promise<string | undefined>((resolve) => {
    const probe = createServer();
    probe.on("error", (error: NodeJS.ErrnoException) => resolve(error.code));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(undefined)));
  });
  return addressError(host, port, code);
}
