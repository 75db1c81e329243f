import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { zip } from "./zip.js";

/** The folder of the Python package, beside this file also in `dist`. */
const FOLDER = "joust_worker";

/** The package `joust_worker` as Ray stores it: an archive whose name is its content. */
export class WorkerPackage {
  readonly archive: Buffer;
  readonly name: string;

  constructor() {
    const folder = new URL(`${FOLDER}/`, import.meta.url);
    const names = readdirSync(folder).filter((name) => name.endsWith(".py"));
    this.archive = zip(
      names.sort().map((name) => ({
        name: `${FOLDER}/${name}`,
        content: readFileSync(new URL(name, folder)),
      })),
    );
    const digest = createHash("sha256").update(this.archive).digest("hex");
    this.name = `_ray_pkg_${digest.slice(0, 16)}.zip`;
  }
}
