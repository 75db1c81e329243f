import type { RequestAdmission } from "../limits/request-admission.js";

/** Interval between two counts of the bytes of an ingestion, ms. */
const INTERVAL_MILLIS = 100;

/** The rows of an ingestion on their way into the engine. */
interface ArrivingRows {
  /** Bytes so far. */
  bytes(): number;
  abort(): void;
}

/** Counts the bytes of an ingestion for the limits of its caller while they arrive. Beyond a limit it is aborted. */
export class MeteredUpload {
  readonly #timer: NodeJS.Timeout;
  #counted = 0;
  #error: unknown;

  constructor(
    private readonly admission: RequestAdmission,
    private readonly rows: ArrivingRows,
  ) {
    this.#timer = setInterval(() => this.#count(), INTERVAL_MILLIS);
    // Afterwards the admission knows the free bytes.
    admission.checkStorage()?.catch((error) => this.#refuse(error));
  }

  /** Counts the last bytes. Returns the limit that ended the ingestion; undefined if none did. */
  end(): unknown {
    clearInterval(this.#timer);
    if (this.#error === undefined) this.#count();
    return this.#error;
  }

  #count(): void {
    const bytes = this.rows.bytes();
    const arrived = bytes - this.#counted;
    this.#counted = bytes;
    try {
      if (arrived > 0) this.admission.chargeUpload(arrived);
    } catch (error) {
      this.#refuse(error);
    }
  }

  #refuse(error: unknown): void {
    clearInterval(this.#timer);
    this.#error ??= error;
    this.rows.abort();
  }
}
