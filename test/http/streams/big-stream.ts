import { request } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Column, emptyStream, random, stream, type } from "../../harness/arrow.js";
import { ARROW_STREAM } from "../../harness/client.js";
import type { Server } from "../../harness/server.js";

const DIMENSION = 256;
const VECTOR_ROWS = 8_192;
const TEXT_ROWS = 128;
const TEXT_LENGTH = 64 * 1024;
/** The marker that ends an Arrow IPC stream. */
const END_BYTES = 8;

/** 8 MiB of vectors, each with an id. */
function vectors(): Record<string, Column> {
  const next = random(5);
  const ids = Array.from({ length: VECTOR_ROWS }, (_, row) => BigInt(row));
  const vectors = ids.map(() => Array.from({ length: DIMENSION }, next));
  return { id: [type.i64, ids], vector: [type.vector(DIMENSION), vectors] };
}

/** 8 MiB of long texts, each with an id. */
export function texts(): Record<string, Column> {
  const ids = Array.from({ length: TEXT_ROWS }, (_, row) => BigInt(row));
  const texts = ids.map((id) => `${id} `.repeat(TEXT_LENGTH).slice(0, TEXT_LENGTH));
  return { id: [type.i64, ids], text: [type.text, texts] };
}

/** An Arrow IPC stream of any size, produced on demand: the same batch of 8 MiB repeatedly. */
export class BigStream {
  readonly rows: number;
  readonly #schema: Uint8Array;
  readonly #batch: Uint8Array;
  readonly #batches: number;

  constructor(bytes: number, batch: Record<string, Column> = vectors()) {
    const types = Object.entries(batch).map(([name, [type]]) => [name, type]);
    const whole = stream(batch);
    this.#schema = emptyStream(Object.fromEntries(types)).slice(0, -END_BYTES);
    this.#batch = whole.slice(this.#schema.length, -END_BYTES);
    this.#batches = Math.ceil(bytes / this.#batch.length);
    this.rows = this.#batches * (batch.id as Column)[1].length;
  }

  *chunks(): Generator<Uint8Array> {
    yield this.#schema;
    for (let sent = 0; sent < this.#batches; sent++) yield this.#batch;
    yield new Uint8Array([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
  }
}

/** POSTs chunks as fast as the server accepts them; returns status and body. */
export async function upload(
  server: Server,
  path: string,
  chunks: Iterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<{ status: number; body: string }> {
  const sending = request(`${server.url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${server.key}`, "content-type": ARROW_STREAM },
    ...(signal && { signal }),
  });
  const answered = new Promise<{ status: number; body: string }>((resolve, reject) => {
    sending.once("error", reject);
    sending.once("response", async (response) => {
      const parts: Buffer[] = [];
      for await (const part of response) parts.push(part);
      resolve({ status: response.statusCode as number, body: Buffer.concat(parts).toString() });
    });
  });
  await Promise.all([pipeline(Readable.from(chunks), sending), answered]);
  return answered;
}
