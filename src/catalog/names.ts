import { invalidInput } from "../foundation/errors.js";

const MAX_CHARACTERS = 128;
const MAX_BYTES = 255;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const FORBIDDEN = /[/\\\u0000-\u001f\u007f-\u009f]/;
/** Beginnings of names that joust and Lance keep for their own files in a root. */
const RESERVED_AT_ROOT = ["_joust", "__manifest"];

/**
 * Throws code 13 unless `name` may name a namespace or a table.
 *
 * `delimiter` is the one the request's identifiers are written with; a name may hold any other.
 * `root` tells that the object sits directly in the root namespace.
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
  if (FORBIDDEN.test(name)) fail('it must not hold "/", "\\" or control characters');
  if (!name.isWellFormed()) fail("it must be well-formed Unicode");
  if ([...name].length > MAX_CHARACTERS || Buffer.byteLength(name) > MAX_BYTES) {
    fail(`it must have at most ${MAX_CHARACTERS} characters and ${MAX_BYTES} bytes`);
  }
  if (where.delimiter && name.includes(where.delimiter)) {
    fail(`it must not hold the delimiter ${JSON.stringify(where.delimiter)}`);
  }
  if (where.root && RESERVED_AT_ROOT.some((prefix) => name.startsWith(prefix))) {
    fail(
      `names that start with ${RESERVED_AT_ROOT.join(" or ")} are reserved in the root namespace`,
    );
  }
}

/** The rules that hold whatever the delimiter, for a whole namespace path. */
export function checkNamespacePath(path: readonly string[]): void {
  for (const [depth, name] of path.entries()) {
    checkName("namespace", name, { root: depth === 0 });
  }
}

/** The root namespace is asked for as if it were a table. */
export const noTableName = () => invalidInput("a table identifier needs at least the table's name");

/** The rules that hold whatever the delimiter, for a table's identifier. */
export function checkTableId(id: readonly string[]): void {
  const name = id.at(-1);
  if (name === undefined) throw noTableName();
  checkNamespacePath(id.slice(0, -1));
  checkName("table", name, { root: id.length === 1 });
}
