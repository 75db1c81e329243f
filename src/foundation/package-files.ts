import { readFileSync } from "node:fs";

/** The folder of the package. This module is two folders below it: in src/, in build/, and in every file of dist/. */
const folder = new URL("../../", import.meta.url);

/** The URL of a file of this npm package. `path` is relative to package.json. */
export const packageFile = (path: string): URL => new URL(path, folder);

export interface PackageManifest {
  readonly version: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** The content of package.json. */
export function packageManifest(): PackageManifest {
  return JSON.parse(readFileSync(packageFile("package.json"), "utf8"));
}
