import { accessSync, constants, existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";

/** The path of an executable in `extra` directories or on PATH. */
export function findProgram(name: string, extra: readonly string[] = []): string | undefined {
  const directories = [...extra, ...(process.env.PATH ?? "").split(delimiter)];
  return directories.map((directory) => join(directory, name)).find(isExecutable);
}

/** Debian installs Postgres' server programs outside of PATH, one directory per version; latest first. */
export function postgresDirectories(): string[] {
  const base = "/usr/lib/postgresql";
  if (!existsSync(base)) return [];
  const versions = readdirSync(base).sort((a, b) => Number(b) - Number(a));
  return versions.map((version) => join(base, version, "bin"));
}

/** The directories of `go install`. */
export function goDirectories(): string[] {
  const { GOBIN, GOPATH } = process.env;
  return [...(GOBIN ? [GOBIN] : []), join(GOPATH ?? join(homedir(), "go"), "bin")];
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
