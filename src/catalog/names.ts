import { invalidInput } from "../foundation/errors.js";

const MAX_CHARACTERS = 128;
const MAX_BYTES = 255;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const FORBIDDEN = /[/\\\u0000-\u001f\u007f-\u009f]/;
/** Prefixes that joust and Lance reserve for their files in a root. */
const RESERVED_AT_ROOT = ["_joust", "__manifest"];

/**
 * Checks the name of a namespace or a table.
 *
 * `delimiter` separates the components of identifiers in this request. `root`: the object is directly in the root
 * namespace.
 *
 * @throws code 13 when it is not valid
 */
export function checkName(
  kind: "namespace" | "table",
  name: string,
  where: { delimiter?: string; root: boolean },
): void {
  const fail = (rule: string): never => {
    throw invalidInput(`${kind} name ${JSON.stringify(name)} is not valid: ${rule}`);
  };
  if (name === "") fail("it must not be empty");
  if (name === "." || name === "..") fail('"." and ".." are not names');
  if (FORBIDDEN.test(name)) fail('it must not contain "/", "\\" or control characters');
  if (!name.isWellFormed()) fail("it must be well-formed Unicode");
  if ([...name].length > MAX_CHARACTERS || Buffer.byteLength(name) > MAX_BYTES) {
    fail(`it must have at most ${MAX_CHARACTERS} characters and ${MAX_BYTES} bytes`);
  }
  if (where.delimiter && name.includes(where.delimiter)) {
    fail(`it must not contain the delimiter ${JSON.stringify(where.delimiter)}`);
  }
  if (where.root && RESERVED_AT_ROOT.some((prefix) => name.startsWith(prefix))) {
    fail(
      `names that start with ${RESERVED_AT_ROOT.join(" or ")} are reserved in the root namespace`,
    );
  }
}

/** Checks a namespace path, independent of the delimiter. */
export function checkNamespacePath(path: readonly string[]): void {
  for (const [depth, name] of path.entries()) {
    checkName("namespace", name, { root: depth === 0 });
  }
}

/** The error for an empty table identifier. */
export const noTableName = () => invalidInput("a table identifier needs at least the table's name");

/** Checks the identifier of a table, independent of the delimiter. */
export function checkTableId(id: readonly string[]): void {
  const name = id.at(-1);
  if (name === undefined) throw noTableName();
  checkNamespacePath(id.slice(0, -1));
  checkName("table", name, { root: id.length === 1 });
}
