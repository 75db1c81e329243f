import { ConfigError } from "../config/option.js";
import { operatorMessage } from "../errors.js";

/** Prints why a command ends, in one sentence, and ends it: 2 for what was asked wrongly, 1 for the rest. */
export function failCommand(error: unknown): never {
  process.stderr.write(`joust: ${operatorMessage(error)}\n`);
  process.exit(error instanceof ConfigError ? 2 : 1);
}
