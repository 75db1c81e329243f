import { setTimeout as sleep } from "node:timers/promises";
import { ErrorCode, hasCode, invalidInput, operatorMessage } from "../../foundation/errors.js";
import type { Logger } from "../logger.js";
import type { AuditLines, AuditTableCounters } from "./audit-log.js";
import { auditRows } from "./audit-rows.js";

/** The Lance table of the audit log. */
export interface AuditTarget {
  /** @throws code 5 if there is a table */
  create(rows: Uint8Array): Promise<unknown>;
  /** @throws code 4 if there is no table */
  append(rows: Uint8Array): Promise<unknown>;
  /** Merges the small fragments of many appends, and removes old versions unless the table is registered. */
  maintain(): Promise<unknown>;
}

export interface AuditTableTimes {
  /** How long lines wait to be written together, ms. */
  readonly interval: number;
  /** The longest pause after a failed write, ms. */
  readonly longestPause: number;
  /** The longest wait for the last lines at the stop of the server, ms. */
  readonly closing: number;
}

const TIMES: AuditTableTimes = { interval: 10_000, longestPause: 300_000, closing: 10_000 };
/** Lines of one append, and their characters: the main thread converts them at once. */
const MOST_ROWS = 5_000;
const MOST_ROW_CHARACTERS = 2 ** 20;
/** Lines that wait for a storage that fails, and their characters. Beyond it, the table lacks the oldest ones. */
const MOST_WAITING = 50_000;
const MOST_CHARACTERS = 32 * 2 ** 20;
/** Refusals in a row after which the table is at fault, and not one line: more than the halvings that find a line. */
const MOST_REFUSALS = 24;
/** Appends between two rounds of maintenance. */
const MAINTAIN_AFTER = 100;

/**
 * Copies the lines of the audit log into a Lance table, some seconds later. The file is the complete record: a line that
 * the table does not take in time is only in the file. No request waits for the table.
 */
export class AuditTable implements AuditLines {
  readonly #waiting: string[] = [];
  /** Characters of the lines that wait. */
  #characters = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  /** Lines of the append that runs. */
  #inFlight = 0;
  /** Failures of the storage, or of a table that refuses every line, since the last append that succeeded. */
  #failures = 0;
  /** Refused appends since then. */
  #refusals = 0;
  /** The most lines of the next append: a refused append is tried again in halves, to find the refused line. */
  #mostRows = MOST_ROWS;
  #appends = 0;
  #closed = false;
  #closing: Promise<void> | undefined;
  /** What an append that still runs returns does not count. */
  #gaveUp = false;
  #rows = 0;
  #lost = 0;
  /** Lost lines since the last append that succeeded. */
  #lostNow = 0;
  #writeErrors = 0;

  constructor(
    private readonly target: AuditTarget,
    private readonly log: Logger,
    private readonly times: AuditTableTimes = TIMES,
  ) {}

  append(text: string, _lines: number): void {
    if (this.#closed) return;
    const added = text.split("\n").filter((line) => line !== "");
    this.#waiting.push(...added);
    this.#characters += charactersOf(added);
    this.#bound();
    // The end of a write decides when the next one begins, and after a failure the pause does.
    if (this.#writing) return;
    const isFull = this.#waiting.length >= MOST_ROWS || this.#characters >= MOST_ROW_CHARACTERS;
    if (isFull && this.#failures === 0) void this.#write();
    else this.#schedule(this.times.interval);
  }

  counters(): AuditTableCounters {
    return { rows: this.#rows, lost: this.#lost, writeErrors: this.#writeErrors };
  }

  /** Writes the lines that wait, as far as the storage takes them in time. May be called repeatedly. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const given = new AbortController();
    await Promise.race([
      this.#writeAll().finally(() => given.abort()),
      sleep(this.times.closing, undefined, { signal: given.signal }).catch(() => {}),
    ]);
    // The storage may still take the lines in flight, and the server does not learn it.
    this.#gaveUp = true;
    this.#lose(this.#waiting.length, this.#inFlight);
    this.#reportLost();
  }

  async #writeAll(): Promise<void> {
    await this.#writing;
    // Also after earlier failures, until an attempt fails.
    while (this.#waiting.length > 0) {
      await this.#write();
      if (this.#failures > 0) return;
    }
  }

  #bound(): void {
    let surplus = Math.max(0, this.#waiting.length - MOST_WAITING);
    let characters = this.#characters - charactersOf(this.#waiting.slice(0, surplus));
    for (; characters > MOST_CHARACTERS; surplus++) {
      characters -= (this.#waiting[surplus] as string).length;
    }
    if (surplus > 0) this.#lose(surplus);
  }

  #lose(lines: number, inFlight = 0): void {
    this.#characters -= charactersOf(this.#waiting.splice(0, lines));
    const isFirst = this.#lostNow === 0;
    this.#lost += lines + inFlight;
    this.#lostNow += lines + inFlight;
    // The log has the start and the sum of an outage.
    if (isFirst && !this.#closed) this.#reportLost();
  }

  #reportLost(): void {
    if (this.#lostNow === 0) return;
    const lines = this.#lostNow;
    this.log.error({ lines }, "the audit table lacks lines; the audit log has them");
  }

  #schedule(ms: number): void {
    if (this.#timer !== undefined || this.#closed) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#write();
    }, ms).unref();
  }

  /** One append at a time. Never rejects. */
  #write(): Promise<void> {
    this.#writing ??= this.#writeBatch().finally(() => {
      this.#writing = undefined;
      const { interval, longestPause } = this.times;
      const pause = Math.min(interval * 2 ** this.#failures, longestPause);
      if (this.#waiting.length > 0) this.#schedule(pause);
    });
    return this.#writing;
  }

  async #writeBatch(): Promise<void> {
    const lines = this.#take();
    this.#inFlight = lines.length;
    try {
      await this.#store(await converted(lines));
      if (this.#gaveUp) return;
      this.#rows += lines.length;
      if (this.#failures > 0 || this.#refusals > 0) {
        this.log.info("the audit table is written again");
      }
      this.#failures = 0;
      this.#refusals = 0;
      this.#mostRows = Math.min(this.#mostRows * 2, MOST_ROWS);
      this.#inFlight = 0;
      this.#reportLost();
      this.#lostNow = 0;
    } catch (err) {
      if (this.#gaveUp) return;
      this.#inFlight = 0;
      if (isRefusal(err)) this.#refused(lines, err);
      else this.#failed(lines, err);
      return;
    }
    await this.#maintainSometimes();
  }

  /** Later lines must not wait for a line that the table never takes. */
  #refused(lines: string[], err: unknown): void {
    this.#writeErrors++;
    if (this.#refusals === 0) {
      this.log.error(
        { err, reason: operatorMessage(err) },
        "the audit table refuses lines; the audit log has them",
      );
    }
    this.#refusals++;
    if (this.#refusals > MOST_REFUSALS) this.#failures++;
    this.#mostRows = Math.ceil(lines.length / 2);
    if (lines.length > 1) this.#putBack(lines);
    else this.#lose(0, 1);
  }

  #putBack(lines: string[]): void {
    this.#waiting.unshift(...lines);
    this.#characters += charactersOf(lines);
    this.#bound();
  }

  /** The oldest lines: at least one, and as many as one append takes. */
  #take(): string[] {
    let [count, characters] = [0, 0];
    const most = Math.min(this.#waiting.length, this.#mostRows);
    while (count < most && characters < MOST_ROW_CHARACTERS) {
      characters += (this.#waiting[count] as string).length;
      count++;
    }
    this.#characters -= characters;
    return this.#waiting.splice(0, count);
  }

  async #store(rows: Uint8Array): Promise<void> {
    try {
      await this.target.append(rows);
    } catch (error) {
      if (!hasCode(error, ErrorCode.TableNotFound)) throw error;
      await this.target.create(rows).catch((error) => {
        // Another server has just created it.
        if (!hasCode(error, ErrorCode.TableAlreadyExists)) throw error;
        return this.target.append(rows);
      });
    }
  }

  async #maintainSometimes(): Promise<void> {
    this.#appends += 1;
    if (this.#appends % MAINTAIN_AFTER !== 0) return;
    try {
      await this.target.maintain();
    } catch (err) {
      this.log.warn({ err }, "the audit table could not be maintained");
    }
  }

  #failed(lines: string[], err: unknown): void {
    this.#putBack(lines);
    this.#writeErrors++;
    if (this.#failures === 0) {
      this.log.error(
        { err, reason: operatorMessage(err) },
        "the audit table could not be written; the audit log has its lines",
      );
    }
    this.#failures++;
  }
}

/** Codes of failures that a repetition of the same append meets again. */
const refusals: readonly ErrorCode[] = [
  ErrorCode.Unsupported,
  ErrorCode.InvalidInput,
  ErrorCode.InvalidTableState,
  ErrorCode.TableColumnNotFound,
  ErrorCode.TableSchemaValidationError,
];

const isRefusal = (error: unknown): boolean => refusals.some((code) => hasCode(error, code));

/** @throws code 13 if a line is not one of the audit log */
async function converted(lines: readonly string[]): Promise<Uint8Array> {
  try {
    return await auditRows(lines);
  } catch (error) {
    throw invalidInput(`a line of the audit log is no row: ${operatorMessage(error)}`);
  }
}

const charactersOf = (lines: readonly string[]): number =>
  lines.reduce((sum, { length }) => sum + length, 0);
