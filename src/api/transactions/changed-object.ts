/** The object that a transaction changed, as properties of its record. */

/** The properties that the server sets. A client cannot alter them: they decide who may see the transaction. */
export const serverProperties: ReadonlySet<string> = new Set([
  "operation",
  "object",
  "object_path",
  "version",
]);

/** The object as text; with a `$` in a component also its components as JSON, because the text is ambiguous then. */
export const objectProperties = (id: readonly string[]): Record<string, string> => ({
  object: id.join("$"),
  ...(id.some((component) => component.includes("$")) && { object_path: JSON.stringify(id) }),
});

/** The components of the object. [] is the root namespace. */
export function changedObject({
  object,
  object_path,
}: Readonly<Record<string, string>>): readonly string[] {
  return pathOf(object_path, object) ?? (object ? object.split("$") : []);
}

/** The components in a record; undefined if a client of an older joust has set something else. */
function pathOf(text: string | undefined, object: string | undefined): string[] | undefined {
  try {
    const path: unknown = JSON.parse(text ?? "null");
    return Array.isArray(path) && path.join("$") === object ? path.map(String) : undefined;
  } catch {
    return undefined;
  }
}
