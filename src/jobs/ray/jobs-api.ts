import { type IncomingMessage, type RequestOptions, request } from "node:http";
import { request as requestTls } from "node:https";
import { type RaySettings, rayToken } from "../../config/ray.js";

/** The states of a job of Ray. The last three are final. */
export type RayState = "PENDING" | "RUNNING" | "STOPPED" | "SUCCEEDED" | "FAILED";

/** A job of Ray. */
export interface RayJob {
  readonly submission_id: string;
  readonly status: RayState;
  /** What the state means, with the end of the log of a job that has failed. */
  readonly message?: string | null;
  readonly metadata?: Readonly<Record<string, string>> | null;
}

/** A job to start. */
export interface RaySubmission {
  readonly submission_id: string;
  readonly entrypoint: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly runtime_env: {
    readonly working_dir: string;
    readonly env_vars: Readonly<Record<string, string>>;
  };
}

/** Ray gave no usable reply. The message says what to do. */
export class RayError extends Error {
  constructor(
    message: string,
    /** A later request may succeed. */
    readonly isTransient: boolean,
  ) {
    super(message);
  }
}

/** How long Ray may take for a reply, ms. */
const TIMEOUT = 20_000;
/** Bytes of an error reply in a message. */
const MAX_QUOTED = 300;

/** The Jobs API of a Ray cluster. It refuses the global `fetch`, which sends the headers of a browser. */
export class JobsApi {
  constructor(private readonly settings: Pick<RaySettings, "address" | "tokenFile" | "ca">) {}

  /** @throws RayError */
  async list(): Promise<RayJob[]> {
    const { body } = await this.#send("GET", "/api/jobs/");
    return this.#parsed<RayJob[]>(body);
  }

  /** Undefined if Ray does not know the job. @throws RayError */
  async find(id: string): Promise<RayJob | undefined> {
    const path = `/api/jobs/${encodeURIComponent(id)}`;
    const { status, body } = await this.#send("GET", path, { accepts: [404] });
    return status === 404 ? undefined : this.#parsed<RayJob>(body);
  }

  /** @throws RayError */
  async submit(submission: RaySubmission): Promise<void> {
    const content = Buffer.from(JSON.stringify(submission));
    await this.#send("POST", "/api/jobs/", { content, type: "application/json" });
  }

  /** Has no effect on a job that has ended. @throws RayError */
  async stop(id: string): Promise<void> {
    await this.#send("POST", `/api/jobs/${encodeURIComponent(id)}/stop`, { accepts: [404] });
  }

  /** Stores an archive unless Ray has it. Returns its URI. @throws RayError */
  async upload(name: string, archive: () => Buffer): Promise<string> {
    const path = `/api/packages/gcs/${name}`;
    const { status } = await this.#send("GET", path, { accepts: [404] });
    if (status === 404) {
      await this.#send("PUT", path, { content: archive(), type: "application/octet-stream" });
    }
    return `gcs://${name}`;
  }

  async #send(
    method: string,
    path: string,
    { content, type, accepts = [] }: { content?: Buffer; type?: string; accepts?: number[] } = {},
  ): Promise<{ status: number; body: string }> {
    const { address, ca } = this.settings;
    const token = this.#token();
    const options: RequestOptions & { ca?: string } = {
      method,
      timeout: TIMEOUT,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(content && { "content-length": content.length }),
        ...(type !== undefined && { "content-type": type }),
      },
      ...(ca !== undefined && { ca }),
    };
    const reply = await exchange(`${address}${path}`, options, content).catch((error: unknown) => {
      const { code, message } = error as NodeJS.ErrnoException;
      throw new RayError(
        `the Jobs API of Ray at ${address} cannot be reached (${code ?? message})`,
        true,
      );
    });
    const { status, body } = reply;
    if (status < 300 || accepts.includes(status)) return reply;
    if (status === 401 || status === 403) {
      throw new RayError(
        `Ray at ${address} refused the token of this server (${status}): set --ray-token-file to a file with the token of the cluster`,
        false,
      );
    }
    const quoted = body.trim().split("\n").at(-1)?.slice(0, MAX_QUOTED);
    throw new RayError(
      `Ray at ${address} replied ${status} to ${method} ${path}: ${quoted}`,
      status >= 500,
    );
  }

  #parsed<T>(body: string): T {
    try {
      return JSON.parse(body) as T;
    } catch {
      throw new RayError(
        `what replies at ${this.settings.address} is not the Jobs API of Ray: check --ray-address`,
        false,
      );
    }
  }

  #token(): string | undefined {
    try {
      return rayToken(this.settings);
    } catch (error) {
      throw new RayError(`the file of --ray-token-file cannot be read: ${error}`, true);
    }
  }
}

function exchange(
  url: string,
  options: RequestOptions,
  content: Buffer | undefined,
): Promise<{ status: number; body: string }> {
  const send = url.startsWith("https:") ? requestTls : request;
  return new Promise((resolve, reject) => {
    const sent = send(url, options, (reply: IncomingMessage) => {
      const chunks: Buffer[] = [];
      reply.on("data", (chunk: Buffer) => chunks.push(chunk));
      reply.on("error", reject);
      reply.on("end", () =>
        resolve({ status: reply.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
      );
    });
    sent.on("error", reject);
    sent.on("timeout", () => sent.destroy(new Error("it does not reply")));
    sent.end(content);
  });
}
