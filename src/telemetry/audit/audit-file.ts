import { existsSync } from "node:fs";
import { type FileHandle, open, rename, stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { Logger } from "../logger.js";
import type { AuditCounters, AuditEntry, AuditLines } from "./audit-log.js";

export interface AuditFileOptions {
  /** Absolute. */
  readonly path: string;
  /** The file is renamed before it exceeds this size, bytes. */
  readonly maxBytes: number;
  /** Number of renamed files: `path.1` is the newest one. */
  readonly maxFiles: number;
}

/** Lines that wait for a disk that is full or failing, bytes. Beyond it, new lines are lost. */
const MAX_WAITING = 8 * 2 ** 20;
const RETRY_INTERVAL = 1_000;
/** Only the user of the server may read the file. */
const MODE = 0o600;

interface Batch {
  readonly bytes: Buffer;
  readonly lines: number;
}

/**
 * Appends to a file and renames it when it is full. All work on the file runs in turn.
 *
 * Only complete lines remain: after a write that failed in the middle, the file is cut back to its last complete
 * line. A file that a crash left with a torn line continues on a new line.
 */
export class AuditFile implements AuditLines {
  readonly #waiting: Batch[] = [];
  #waitingBytes = 0;
  #work: Promise<void> = Promise.resolve();
  #scheduled = false;
  #retry: NodeJS.Timeout | undefined;
  /** The last write failed. */
  #failing = false;
  #rotationFails = false;
  #closed = false;
  #lines = 0;
  #lost = 0;
  /** Lost lines that the file does not mention yet. */
  #unreported = 0;
  #writeErrors = 0;

  private constructor(
    private readonly options: AuditFileOptions,
    private readonly log: Logger,
    private file: OpenFile,
  ) {}

  /** @throws Error with one sentence if the file cannot be opened */
  static async open(options: AuditFileOptions, log: Logger): Promise<AuditFile> {
    try {
      return new AuditFile(options, log, await OpenFile.open(options.path));
    } catch (error) {
      throw new Error(openFailure(options.path, error), { cause: error });
    }
  }

  append(text: string, lines: number): void {
    const bytes = Buffer.from(text);
    if (this.#closed || this.#waitingBytes + bytes.byteLength > MAX_WAITING) {
      this.#lost += lines;
      this.#unreported += lines;
      return;
    }
    this.#waiting.push({ bytes, lines });
    this.#waitingBytes += bytes.byteLength;
    if (this.#retry === undefined) this.#schedule();
  }

  counters(): AuditCounters {
    return { lines: this.#lines, lost: this.#lost, writeErrors: this.#writeErrors };
  }

  /** Opens the path anew: another program has renamed the file. Never rejects. */
  reopen(): Promise<void> {
    return this.#inTurn(async () => {
      try {
        const former = this.file;
        this.file = await OpenFile.open(this.options.path);
        await former.close();
        this.log.info("reopened the audit log");
      } catch (err) {
        this.log.error(
          { err },
          "the audit log could not be reopened; the former file stays in use",
        );
      }
    });
  }

  /** Writes the waiting lines and closes the file. Lines that the disk does not take are lost. */
  async close(): Promise<void> {
    clearTimeout(this.#retry);
    this.#schedule();
    this.#closed = true;
    await this.#inTurn(async () => {
      clearTimeout(this.#retry);
      const lost = this.#waiting.reduce((sum, { lines }) => sum + lines, 0);
      if (lost > 0) this.log.error({ lost }, "lines of the audit log could not be written");
      await this.file.close().catch((err) => this.#failed(err));
    });
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#work = this.#work.then(work);
    return this.#work;
  }

  #schedule(): void {
    this.#retry = undefined;
    if (this.#scheduled) return;
    this.#scheduled = true;
    void this.#inTurn(() => this.#writeWaiting());
  }

  async #writeWaiting(): Promise<void> {
    this.#scheduled = false;
    try {
      for (let batch = this.#waiting[0]; batch; batch = this.#waiting[0]) {
        await this.#writeBatch(batch.bytes);
        this.#waiting.shift();
        this.#waitingBytes -= batch.bytes.byteLength;
        this.#lines += batch.lines;
      }
      await this.#reportLost();
      if (this.#failing) this.log.info("the audit log is written again");
      this.#failing = false;
    } catch (err) {
      this.#failed(err);
      if (!this.#closed) this.#retry = setTimeout(() => this.#schedule(), RETRY_INTERVAL).unref();
    }
  }

  async #writeBatch(bytes: Buffer): Promise<void> {
    await this.file.refresh();
    if (this.file.size > 0 && this.file.size + bytes.byteLength > this.options.maxBytes) {
      await this.#rotate();
    }
    await this.file.write(bytes);
  }

  /** A reader of the file sees that lines are missing. */
  async #reportLost(): Promise<void> {
    const lines = this.#unreported;
    if (lines === 0) return;
    const entry = { time: new Date().toISOString(), event: "lines_lost", lines };
    await this.#writeBatch(Buffer.from(`${JSON.stringify(entry)}\n`));
    this.#unreported -= lines;
  }

  /** Renames the files. If that fails, the file grows: no line is lost. */
  async #rotate(): Promise<void> {
    const { path, maxFiles } = this.options;
    try {
      // Absent after a rotation that could not open the new file.
      if (existsSync(path)) {
        for (let number = maxFiles - 1; number >= 1; number--) {
          await renameIfExists(`${path}.${number}`, `${path}.${number + 1}`);
        }
        await rename(path, `${path}.1`);
      }
      const former = this.file;
      this.file = await OpenFile.open(path);
      await former.close();
      this.#rotationFails = false;
    } catch (err) {
      if (!this.#rotationFails) this.log.error({ err }, "the audit log could not be rotated");
      this.#rotationFails = true;
      this.#writeErrors++;
    }
  }

  #failed(err: unknown): void {
    this.#writeErrors++;
    if (!this.#failing) this.log.error({ err }, "the audit log could not be written");
    this.#failing = true;
  }
}

/**
 * The audit log of a server for a command beside it, which appends one line. The system appends one short write as a
 * whole. If the server renames the file meanwhile, the line is in the renamed file.
 */
export class AuditAppender {
  private constructor(
    private readonly path: string,
    private readonly file: OpenFile,
  ) {}

  /** @throws Error with one sentence if the file cannot be opened */
  static async open(path: string): Promise<AuditAppender> {
    try {
      const file = await OpenFile.open(path);
      // The server is often another user, which must be able to open the file.
      if (file.size === 0 && process.getuid?.() === 0) await file.giveToOwnerOf(dirname(path));
      return new AuditAppender(path, file);
    } catch (error) {
      throw new Error(openFailure(path, error), { cause: error });
    }
  }

  /** @throws Error with one sentence if the disk does not take the line */
  async append(entry: AuditEntry): Promise<void> {
    try {
      await this.file.refresh();
      await this.file.write(Buffer.from(`${JSON.stringify(entry)}\n`));
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      throw new Error(
        `the command ${entry.status < 400 ? "has made its change" : "has failed"}, and the audit log ${this.path} has no line for it (${code ?? message}): free the disk, and note the command by hand`,
        { cause: error },
      );
    }
  }

  close(): Promise<void> {
    return this.file.close();
  }
}

/** An open file and the size of its complete lines. */
class OpenFile {
  private constructor(
    private readonly handle: FileHandle,
    public size: number,
    private torn: boolean,
  ) {}

  static async open(path: string): Promise<OpenFile> {
    const handle = await open(path, "a+", MODE);
    try {
      const stat = await handle.stat();
      if (!stat.isFile()) throw new Error("not a regular file");
      await handle.chmod(MODE);
      return new OpenFile(handle, stat.size, await isTorn(handle, stat.size));
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async giveToOwnerOf(folder: string): Promise<void> {
    const { uid, gid } = await stat(folder);
    await this.handle.chown(uid, gid);
  }

  /** Takes account of what another process has appended: a command such as `joust key create`. */
  async refresh(): Promise<void> {
    const { size } = await this.handle.stat();
    if (size === this.size) return;
    this.torn = await isTorn(this.handle, size);
    this.size = size;
  }

  /** @throws the error of the system; the file then ends with its last complete line, if the disk allows it */
  async write(bytes: Buffer): Promise<void> {
    const whole = this.torn ? Buffer.concat([Buffer.from("\n"), bytes]) : bytes;
    let written = 0;
    try {
      while (written < whole.byteLength) {
        written += (await this.handle.write(whole, written)).bytesWritten;
      }
    } catch (error) {
      await this.#cut(written).catch(() => {
        this.torn = true;
      });
      throw error;
    }
    this.torn = false;
    this.size += whole.byteLength;
  }

  /** Removes the bytes of a write that failed, unless another process has appended to them. */
  async #cut(written: number): Promise<void> {
    const { size } = await this.handle.stat();
    if (size !== this.size + written) throw new Error("another process has appended");
    await this.handle.truncate(this.size);
  }

  async close(): Promise<void> {
    try {
      await this.handle.sync();
    } finally {
      await this.handle.close();
    }
  }
}

/** Whether the last line has no end: the process or the machine failed while it was written. */
async function isTorn(handle: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return false;
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] !== 10;
}

function openFailure(path: string, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  const reason = code === undefined ? message : code;
  return `the audit log ${path} cannot be opened (${reason}): --audit-log must be a regular file, or a new one in an existing directory that this user may write to`;
}

async function renameIfExists(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
