import { execFileSync } from "node:child_process";
import { statfsSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeDir, tempDir } from "./temp.js";

/** A tmpfs of a few MiB, which can become full or read-only. */
export class SmallDisk {
  readonly path = tempDir("disk");

  constructor(mebibytes: number) {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${mebibytes}m`, "tmpfs", this.path]);
  }

  /** Free bytes. */
  get free(): number {
    const { bavail, bsize } = statfsSync(this.path);
    return bavail * bsize;
  }

  /** Fills the disk except for this number of bytes. */
  fill(left: number): void {
    writeFileSync(this.#filler, Buffer.alloc(Math.max(0, this.free - left)));
  }

  /** Removes the filling. */
  empty(): void {
    unlinkSync(this.#filler);
  }

  /** Fails while a file on the disk is open for writing. */
  setReadOnly(readOnly: boolean): void {
    execFileSync("mount", ["-o", `remount,${readOnly ? "ro" : "rw"}`, this.path]);
  }

  remove(): void {
    execFileSync("umount", [this.path]);
    removeDir(this.path);
  }

  get #filler(): string {
    return join(this.path, ".filler");
  }
}

/** Why tmpfs cannot be mounted here; undefined if it can. For `describe.skipIf`. */
export const smallDiskMissing: string | undefined = missing();

function missing(): string | undefined {
  if (process.platform !== "linux") return "only Linux has file systems in memory";
  try {
    new SmallDisk(1).remove();
    return undefined;
  } catch {
    return "file systems can't be mounted here (it takes root)";
  }
}
