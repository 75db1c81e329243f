import { ConfigError } from "../config/option.js";

/** Prints why a command ends, in one sentence, and ends it: 2 for what was asked wrongly, 1 for the rest. */
export function failCommand(error: unknown): never {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`joust: ${message}\n`);
  process.exit(error instanceof ConfigError ? 2 : 1);
}
