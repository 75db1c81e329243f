import { unwatchFile, watchFile } from "node:fs";

/** Interval between two checks of the files, ms. Polling also detects that a symbolic link has a new target. */
const watchInterval = 2_000;

/** Calls `changed` after a change of one of the files. Returns a function that stops the watch. */
export function watchFiles(paths: readonly string[], changed: () => void): () => void {
  for (const path of paths) {
    watchFile(path, { interval: watchInterval, persistent: false }, (now, before) => {
      // A missing file (mtime 0) is being replaced: its return is another change.
      if (now.mtimeMs > 0 && (now.mtimeMs !== before.mtimeMs || now.ino !== before.ino)) changed();
    });
  }
  return () => {
    for (const path of paths) unwatchFile(path);
  };
}
