import { constants } from "node:os";

type StopSignal = "SIGTERM" | "SIGINT";

/**
 * Handles SIGTERM and SIGINT. Create it before anything else: the first process of a container ignores a signal that
 * it has no handler for.
 */
export class StopSignals {
  #close: () => Promise<unknown> = async () => {};
  #onFirst: ((signal: StopSignal) => void) | undefined;
  #isExiting = false;

  constructor() {
    const onSignal = (signal: NodeJS.Signals) => this.#onSignal(signal as StopSignal);
    process.on("SIGTERM", onSignal);
    process.on("SIGINT", onSignal);
  }

  /** From now on a signal runs `close` before the process exits with the usual code, 128 and the signal's number. */
  beforeExit(close: () => Promise<unknown>): void {
    this.#close = close;
  }

  /** Whether a signal has arrived that ends the process. Other work continues until the clean-up has ended. */
  get isExiting(): boolean {
    return this.#isExiting;
  }

  /** Resolves at the next signal. The signal after it ends the process with code 1. */
  next(): Promise<StopSignal> {
    return new Promise((resolve) => {
      this.#onFirst = (signal) => {
        this.#onFirst = () => this.#exit(1);
        resolve(signal);
      };
    });
  }

  #onSignal(signal: StopSignal): void {
    if (this.#onFirst) this.#onFirst(signal);
    else this.#exit(128 + constants.signals[signal]);
  }

  #exit(code: number): void {
    this.#isExiting = true;
    void this.#close().finally(() => process.exit(code));
  }
}
