import { readdirSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname } from "node:path";
import { ESCAPE } from "./values.js";

/** Watches the directories around a root: nothing may be created in them. */
export class Escapes {
  readonly #before: Map<string, Set<string>>;

  constructor(root: string) {
    const around = new Set([process.cwd(), homedir(), "/etc", "/tmp", tmpdir()]);
    for (let at = dirname(root); ; at = dirname(at)) {
      around.add(at);
      if (at === dirname(at)) break;
    }
    this.#before = new Map([...around].map((folder) => [folder, entries(folder)]));
  }

  /** New entries: of the root's own parent any, of shared directories those with the name that the requests use. */
  found(parent: string): string[] {
    return [...this.#before].flatMap(([folder, before]) =>
      [...entries(folder)]
        .filter((name) => !before.has(name))
        .filter((name) => folder === parent || name.includes(ESCAPE))
        .map((name) => `${folder}/${name}`),
    );
  }
}

function entries(folder: string): Set<string> {
  try {
    return new Set(readdirSync(folder));
  } catch {
    return new Set();
  }
}
