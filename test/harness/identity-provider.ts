import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";

interface ProviderKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly jwk: object;
}

/** An OpenID Connect issuer on loopback: discovery, key set and tokens. */
export class IdentityProvider {
  /** Requests for the key set. */
  fetches = 0;
  /** The provider answers 503. */
  isDown = false;
  #keys: ProviderKey[] = [];
  #published: ProviderKey[] = [];
  #numbers = 0;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<IdentityProvider> {
    const server = createServer();
    const provider = new IdentityProvider(server);
    server.on("request", (request, response) => {
      const body = provider.#document(request.url ?? "");
      response.statusCode = provider.isDown ? 503 : body === undefined ? 404 : 200;
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(body ?? {}));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    await provider.rotate("RS256");
    return provider;
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Publishes one new key in place of the former ones. */
  async rotate(alg: string): Promise<void> {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    const kid = `key-${this.#numbers++}`;
    const jwk = { ...(await exportJWK(publicKey)), kid, alg, use: "sig" };
    const key = { kid, alg, privateKey, jwk };
    this.#keys.push(key);
    this.#published = [key];
  }

  /** A token that is valid for a minute. `key`: 0 is the oldest key; default: the newest. */
  sign(claims: JWTPayload, { key = -1, header = {} } = {}): Promise<string> {
    const { kid, alg, privateKey } = this.#keys.at(key) as ProviderKey;
    const now = Math.floor(Date.now() / 1000);
    const payload = {
      iss: this.issuer,
      aud: "joust",
      sub: "u1",
      iat: now,
      exp: now + 60,
      ...claims,
    };
    return new SignJWT(payload).setProtectedHeader({ alg, kid, ...header }).sign(privateKey);
  }

  /** The public key of the newest key pair, as text. */
  get publicKey(): string {
    return JSON.stringify(this.#keys.at(-1)?.jwk);
  }

  #document(url: string): object | undefined {
    if (url === "/.well-known/openid-configuration") {
      return { issuer: this.issuer, jwks_uri: `${this.issuer}/keys` };
    }
    if (url !== "/keys") return undefined;
    this.fetches++;
    return { keys: this.#published.map(({ jwk }) => jwk) };
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
