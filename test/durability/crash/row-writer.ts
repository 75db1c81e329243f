import { random, stream, type } from "../../harness/arrow.js";
import type { Client } from "../../harness/client.js";

/** Rows of one request; all of them have the batch's number. */
export interface Batch {
  readonly number: number;
  readonly rows: number;
  /** The server acknowledged the rows. */
  answered: boolean;
}

export const rowTypes = { batch: type.i64, row: type.i32, text: type.text };

/** Inserts numbered batches until it is stopped or the server has ended. */
export async function writeRows(
  client: Client,
  batches: Batch[],
  seed: number,
  stopped: () => boolean,
): Promise<void> {
  const next = random(seed);
  while (!stopped()) {
    const batch = { number: batches.length, rows: 1 + Math.floor(next() * 20), answered: false };
    batches.push(batch);
    try {
      await client.insert("rows", streamOf(batch));
    } catch (error) {
      if (stopped() || isGone(error)) return;
      throw error;
    }
    batch.answered = true;
  }
}

function streamOf({ number, rows }: Batch): Uint8Array {
  const indexes = Array.from({ length: rows }, (_, row) => row);
  return stream({
    batch: [rowTypes.batch, indexes.map(() => BigInt(number))],
    row: [rowTypes.row, indexes],
    text: [rowTypes.text, indexes.map((row) => `batch${number} row${row}`)],
  });
}

/** The connection broke, as after a kill of the process. */
export function isGone(error: unknown): boolean {
  return error instanceof TypeError;
}
