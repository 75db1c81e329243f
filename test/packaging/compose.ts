import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findProgram } from "../harness/programs.js";

export const folder = fileURLToPath(new URL("../../packaging/container", import.meta.url));

/** The compose file parser of `docker compose`, as a command. */
const PARSER = "github.com/compose-spec/compose-go/v2/cmd@v2.16.2";

/** A service in the output of the parser. */
export interface Service {
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, unknown>>;
  readonly [key: string]: unknown;
}

/** The text of a compose file in `packaging/container` with these variables replaced. */
export function readCompose(
  name: string,
  variables: Readonly<Record<string, string>> = {},
): string {
  return replaceVariables(readFileSync(join(folder, name), "utf8"), variables);
}

/**
 * The services of a compose file.
 * @throws Error with the fault of the file
 */
export function parseCompose(text: string): Record<string, Service> {
  const go = findProgram("go");
  if (!go)
    throw new Error("go is not installed: the test needs it to run the parser of compose files");
  const directory = mkdtempSync(join(tmpdir(), "joust-compose-"));
  try {
    const file = join(directory, "compose.yaml");
    writeFileSync(file, text);
    const args = ["run", PARSER, "-format", "json", file];
    return JSON.parse(execFileSync(go, args, { cwd: directory, stdio: "pipe" }).toString())
      .services;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Replaces variables as `docker compose` does. The parser does not read the environment. */
function replaceVariables(text: string, variables: Readonly<Record<string, string>>): string {
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
