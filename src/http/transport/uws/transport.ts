import { createServer } from "node:net";
import { addressError } from "../address.js";
import { readPair } from "../tls.js";
import type { RequestHandler, TlsFiles, Transport } from "../transport.js";
import type { Uws, UwsApp, UwsListenSocket } from "./types.js";

/** HTTP/1.1 with uWebSockets.js: the fast one. */
export class UwsTransport implements Transport {
  /** The last one takes new connections; earlier ones have a former certificate. */
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
      // It listened alone, so the port is free. From here on `reloadTls` may share it.
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
   * uWebSockets.js cannot exchange the certificate of an app. Another app with the new one listens
   * beside it; open connections stay with the former.
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
    // Its own error says only that it failed.
    readPair(tls);
    const files = { cert_file_name: tls.certFile, key_file_name: tls.keyFile };
    return this.uws.SSLApp(files).any("/*", this.handle);
  }

  /** The newest app listens. */
  #bind(host: string, port: number, shared: boolean): Promise<UwsListenSocket> {
    const mode = shared ? 0 : this.uws.LIBUS_LISTEN_EXCLUSIVE_PORT;
    return new Promise((resolve, reject) => {
      this.#apps.at(-1)?.listen(host, port, mode, (socket) => {
        if (socket) resolve(socket);
        else refusal(host, port).then(reject, reject);
      });
    });
  }
}

/** Why the system refuses an address: uWebSockets.js only says that it does. */
async function refusal(host: string, port: number): Promise<Error> {
  const code = await new Promise<string | undefined>((resolve) => {
    const probe = createServer();
    probe.on("error", (error: NodeJS.ErrnoException) => resolve(error.code));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(undefined)));
  });
  return addressError(host, port, code);
}
