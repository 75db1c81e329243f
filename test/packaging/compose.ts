import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findProgram } from "../harness/programs.js";

export const folder = fileURLToPath(new URL("../../packaging/container", import.meta.url));

/** The library that `docker compose` reads its files with, as a program of its own. */
const CHECKER = "github.com/compose-spec/compose-go/v2/cmd@v2.16.2";

/** A service as the checker writes it. */
export interface Service {
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, unknown>>;
  readonly [key: string]: unknown;
}

/** A compose file in `packaging/container` with these values for its variables. */
export function readCompose(
  name: string,
  variables: Readonly<Record<string, string>> = {},
): string {
  return fill(readFileSync(join(folder, name), "utf8"), variables);
}

/**
 * The services of a compose file.
 * @throws Error with what is wrong with the file
 */
export function parseCompose(text: string): Record<string, Service> {
  const go = findProgram("go");
  if (!go) throw new Error("go is not installed: it runs the checker of compose files");
  const directory = mkdtempSync(join(tmpdir(), "joust-compose-"));
  try {
    const file = join(directory, "compose.yaml");
    writeFileSync(file, text);
    const args = ["run", CHECKER, "-format", "json", file];
    return JSON.parse(execFileSync(go, args, { cwd: directory, stdio: "pipe" }).toString())
      .services;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** As `docker compose` fills in variables; the checker does not look at the environment. */
function fill(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replace(
    /\$\{(\w+)(?::([?-])([^}]*))?\}/g,
    (_, name: string, kind?: string, rest?: string) => {
      const value = variables[name];
      if (value !== undefined) return value;
      if (kind === "-") return rest ?? "";
      throw new Error(`the variable ${name} has no value: ${rest ?? ""}`);
    },
  );
}
