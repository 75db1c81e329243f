import { invalidInput } from "../../foundation/errors.js";

/**
 * `ExistOk`, `exist_ok` and `EXISTOK` are one word. So is `"ExistOk"` with JSON's quotes in the string:
 * the LanceDB SDK for Node encodes its words twice.
 */
const plain = (word: string): string =>
  word
    .replace(/^"(.*)"$/, "$1")
    .replaceAll(/[_-]/g, "")
    .toLowerCase();

/**
 * Reads an enum-like string: letter case does not count, PascalCase and snake_case are the same.
 *
 * @throws code 13, naming what is allowed.
 */
export function choice<const T extends string>(
  field: string,
  given: string,
  allowed: readonly T[],
): T {
  const exact = allowed.find((word) => word === given);
  if (exact !== undefined) return exact;
  const wanted = plain(given);
  const found = allowed.find((word) => plain(word) === wanted);
  if (found !== undefined) return found;
  throw invalidInput(
    `${field} ${JSON.stringify(given.slice(0, 80))} is not known: use one of ${allowed.join(", ")}`,
  );
}
