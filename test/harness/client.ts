import { type Table, tableFromIPC } from "apache-arrow";

export const ARROW_STREAM = "application/vnd.apache.arrow.stream";

/** Decoded JSON. Untyped on purpose: each test states its expectation. */
// biome-ignore lint/suspicious/noExplicitAny: see above
export type Json = any;

/** One response with its complete body. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  readonly text: string;
  readonly json: Json;
}

export interface RequestOptions {
  method?: string;
  /** Query parameters. */
  params?: Record<string, string>;
  headers?: Record<string, string>;
  /** Objects are sent as JSON, bytes as an Arrow stream, strings as they are. */
  body?: object | string | Uint8Array;
  signal?: AbortSignal;
}

/** A plain HTTP client: it returns failures as responses and never throws for a status. */
export class Client {
  constructor(
    readonly url: string,
    readonly key: string,
  ) {}

  /** A client of the same server with another key ("": none). */
  withKey(key: string): Client {
    return new Client(this.url, key);
  }

  /** The same client as LanceDB SDKs send requests of a connection to `db://NAME`. */
  inDatabase(name: string): Client {
    return new DatabaseClient(this.url, this.key, name);
  }

  async request(path: string, options: RequestOptions = {}): Promise<Answer> {
    const response = await this.open(path, options);
    const bytes = new Uint8Array(await response.arrayBuffer());
    return answer(response, bytes);
  }

  /** Resolves with the response head; the caller reads the body. */
  open(path: string, options: RequestOptions = {}): Promise<Response> {
    const { method = "POST", params, body } = options;
    const url = new URL(path, this.url);
    for (const [name, value] of Object.entries(params ?? {})) url.searchParams.set(name, value);
    const headers: Record<string, string> = {};
    if (this.key !== "") headers.authorization = `Bearer ${this.key}`;
    const init: RequestInit = { method };
    if (body instanceof Uint8Array) {
      headers["content-type"] = ARROW_STREAM;
      init.body = body;
    } else if (body !== undefined) {
      headers["content-type"] = "application/json";
      init.body = typeof body === "string" ? body : JSON.stringify(body);
    }
    init.headers = { ...headers, ...options.headers };
    if (options.signal) init.signal = options.signal;
    return fetch(url, init);
  }

  get(path: string, params?: Record<string, string>): Promise<Answer> {
    return this.request(path, { method: "GET", ...(params && { params }) });
  }

  post(path: string, body?: object | string | Uint8Array, params?: Record<string, string>) {
    return this.request(path, { ...(body !== undefined && { body }), ...(params && { params }) });
  }

  /** A POST that must succeed: returns the decoded body or throws an error with the response. */
  async ok(
    path: string,
    body?: object | string | Uint8Array,
    params?: Record<string, string>,
  ): Promise<Json> {
    const reply = await this.post(path, body, params);
    if (reply.status >= 300) {
      throw new Error(`POST ${path} answered ${reply.status}: ${reply.text}`);
    }
    return reply.bytes.length > 0 && isJson(reply.headers) ? reply.json : undefined;
  }

  createNamespace(id: string, body: object = {}) {
    return this.ok(`/v1/namespace/${encodeURIComponent(id)}/create`, body);
  }

  createTable(id: string, stream: Uint8Array, params?: Record<string, string>) {
    return this.ok(`/v1/table/${encodeURIComponent(id)}/create`, stream, params);
  }

  insert(id: string, stream: Uint8Array, params?: Record<string, string>) {
    return this.ok(`/v1/table/${encodeURIComponent(id)}/insert`, stream, params);
  }

  count(id: string, body: object = {}): Promise<number> {
    return this.ok(`/v1/table/${encodeURIComponent(id)}/count_rows`, body);
  }

  /** A query that must succeed; `k` is 10 unless given. */
  async query(id: string, body: object): Promise<Table> {
    const path = `/v1/table/${encodeURIComponent(id)}/query`;
    const reply = await this.post(path, { k: 10, ...body });
    if (reply.status !== 200)
      throw new Error(`POST ${path} answered ${reply.status}: ${reply.text}`);
    return tableFromIPC(reply.bytes);
  }
}

class DatabaseClient extends Client {
  constructor(
    url: string,
    key: string,
    private readonly database: string,
  ) {
    super(url, key);
  }

  override withKey(key: string): Client {
    return new DatabaseClient(this.url, key, this.database);
  }

  override open(path: string, options: RequestOptions = {}): Promise<Response> {
    const headers = { "x-lancedb-database": this.database, ...options.headers };
    return super.open(path, { ...options, headers });
  }
}

function isJson(headers: Headers): boolean {
  return headers.get("content-type")?.startsWith("application/json") ?? false;
}

function answer(response: Response, bytes: Uint8Array): Answer {
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    get text() {
      return new TextDecoder().decode(bytes);
    },
    get json() {
      return JSON.parse(new TextDecoder().decode(bytes));
    },
  };
}
