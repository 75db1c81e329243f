import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { removeDir, tempDir } from "../harness/temp.js";

/** A checkout with these files, which is removed after the test. */
export function checkout(files: Record<string, string>): string {
  const root = tempDir("checkout");
  onTestFinished(() => removeDir(root));
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  return root;
}
