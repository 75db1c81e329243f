import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A new directory under the system's temporary one; the caller removes it. */
export function tempDir(purpose = "test"): string {
  return mkdtempSync(join(tmpdir(), `joust-${purpose}-`));
}

export function removeDir(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 10 });
}
