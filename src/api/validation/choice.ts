import { invalidInput } from "../../foundation/errors.js";

/**
 * `ExistOk`, `exist_ok` and `EXISTOK` are equal. So is `"ExistOk"` with quotes in the string: the LanceDB SDK for Node
 * encodes these words twice.
 */
const normalize = (word: string): string =>
  word
    .replace(/^"(.*)"$/, "$1")
    .replaceAll(/[_-]/g, "")
    .toLowerCase();

/**
 * Parses a string that names one of several choices. Letter case does not matter; PascalCase and snake_case are equal.
 *
 * @throws code 13; the message lists the choices
 */
export function parseChoice<const T extends string>(
  field: string,
  text: string,
  choices: readonly T[],
): T {
  const exact = choices.find((word) => word === text);
  if (exact !== undefined) return exact;
  const normalized = normalize(text);
  const match = choices.find((word) => normalize(word) === normalized);
  if (match !== undefined) return match;
  throw invalidInput(
    `${field} ${JSON.stringify(text.slice(0, 80))} is not known: use one of ${choices.join(", ")}`,
  );
}
