import { ConfigError } from "../config/option.js";
import { operatorMessage } from "../foundation/errors.js";

/** Prints the error of a command in one sentence and exits: code 2 for invalid arguments, 1 for other errors. */
export function failCommand(error: unknown): never {
  process.stderr.write(`joust: ${sentence(error)}\n`);
  process.exit(error instanceof ConfigError ? 2 : 1);
}

/** Exported for the tests. */
export function sentence(error: unknown): string {
  const message = operatorMessage(error);
  const [, missing] = /^Cannot find (?:module|package) '([^']+)'/.exec(message) ?? [];
  if (missing !== undefined) {
    return `the package ${missing} is not installed: install joust again, without \`--omit=optional\``;
  }
  return message.replace(/\s*\n\s*/g, " ");
}
