import { statSync } from "node:fs";

/** Interval between two checks of the files, ms. Polling also detects that a symbolic link has a new target. */
const interval = 2_000;

/**
 * Reports changes of files after its creation. Create it before the files are read for the first time: a file that
 * changes between its reading and `start` is then reported too. (`fs.watchFile` does not report such a change: it
 * remembers a file only as its first, asynchronous check finds it.)
 */
export class FileWatch {
  /** The last state of each file that was not missing. */
  private readonly states: Map<string, string>;

  constructor(paths: readonly string[]) {
    this.states = new Map(paths.map((path) => [path, stateOf(path)]));
  }

  /** Calls `changed` after a change of one of the files. Returns a function that stops the watch. */
  start(changed: () => void): () => void {
    const check = () => {
      if (this.haveChanged()) changed();
    };
    const timer = setInterval(check, interval).unref();
    return () => clearInterval(timer);
  }

  private haveChanged(): boolean {
    let changed = false;
    for (const [path, before] of this.states) {
      const now = stateOf(path);
      // A missing file is being replaced: its return is the change.
      if (now === missing || now === before) continue;
      this.states.set(path, now);
      changed = true;
    }
    return changed;
  }
}

const missing = "missing";

function stateOf(path: string): string {
  try {
    const { mtimeNs, ino, size } = statSync(path, { bigint: true });
    return `${mtimeNs} ${ino} ${size}`;
  } catch {
    return missing;
  }
}
