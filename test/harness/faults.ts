import { execFileSync } from "node:child_process";
import { closeSync, openSync, readSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findProgram } from "./programs.js";
import { tempDir } from "./temp.js";

const source = fileURLToPath(new URL("./faults.c", import.meta.url));

/** Whether this host can preload the library that makes a file system fail. */
export const hasFaults = process.platform === "linux" && findProgram("cc") !== undefined;

let library: string | undefined;

/** Makes a file system fail, or a process end, at a chosen change: see faults.c. */
export class Faults {
  readonly #control: string;

  constructor(private readonly root: string) {
    const dir = tempDir("faults");
    this.#control = join(dir, "control");
    writeFileSync(this.#control, Buffer.alloc(32));
    library ??= compiled(tempDir("faults"));
  }

  /** Environment of the process that is to fail. */
  get env(): Record<string, string> {
    return {
      LD_PRELOAD: library as string,
      FAULTS_ROOT: this.root,
      FAULTS_CONTROL: this.#control,
    };
  }

  /** Number of changes made in the directory. */
  get changes(): number {
    const file = openSync(this.#control, "r");
    const number = Buffer.alloc(8);
    readSync(file, number, 0, 8, 0);
    closeSync(file);
    return Number(number.readBigInt64LE());
  }

  /** Ends the process just before this one of the following changes, counted from 1. */
  endAt(change: number): void {
    this.#write(1, this.changes + change);
  }

  /** Makes all changes fail with this error number, 0: none. The catalog's files can be excluded. */
  failWith(error: number, spareCatalog = false): void {
    this.#write(3, spareCatalog ? 1 : 0);
    this.#write(2, error);
  }

  /** Removes all faults, for a new process. */
  reset(): void {
    writeFileSync(this.#control, Buffer.alloc(32));
  }

  #write(place: number, value: number): void {
    const number = Buffer.alloc(8);
    number.writeBigInt64LE(BigInt(value));
    const file = openSync(this.#control, "r+");
    writeSync(file, number, 0, 8, place * 8);
    closeSync(file);
  }
}

function compiled(dir: string): string {
  const file = join(dir, "faults.so");
  execFileSync("cc", ["-shared", "-fPIC", "-O1", "-o", file, source, "-ldl"]);
  return file;
}
