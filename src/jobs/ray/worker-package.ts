import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { type Zippable, zipSync } from "fflate";
import { packageFile } from "../../foundation/package-files.js";

/** The name of the Python package, and of its folder. */
const NAME = "joust_worker";

/** Of all files: equal files make equal archives. Archives have local times, from 1980 on. */
const TIME = new Date(1980, 0, 1);
/** An ordinary file that all users may read, on Unix. */
const MODE = 0o100644 << 16;
const UNIX = 3;

/** The package `joust_worker` as Ray stores it: an archive whose name is its content. */
export class WorkerPackage {
  readonly archive: Buffer;
  readonly name: string;

  constructor() {
    const folder = packageFile(`dist/jobs/ray/${NAME}/`);
    const names = readdirSync(folder).filter((name) => name.endsWith(".py"));
    const files: Zippable = {};
    for (const name of names.sort()) {
      files[`${NAME}/${name}`] = readFileSync(new URL(name, folder));
    }
    this.archive = Buffer.from(zipSync(files, { mtime: TIME, attrs: MODE, os: UNIX }));
    const digest = createHash("sha256").update(this.archive).digest("hex");
    this.name = `_ray_pkg_${digest.slice(0, 16)}.zip`;
  }
}
