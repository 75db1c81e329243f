interface Document {
  components: { schemas: Record<string, unknown> };
}

/** Moves schemas that have an `$id` to the document's components, where their references lead. */
export function withComponents<D extends Document>(document: D): D {
  const found: Record<string, unknown> = {};
  const visit = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(visit);
    if (node === null || typeof node !== "object") return node;
    const { $id, $ref, ...rest } = node as Record<string, unknown>;
    if (typeof $ref === "string") return { $ref: $ref.startsWith("#") ? $ref : pointer($ref) };
    const members = Object.entries(rest).map(([name, value]) => [name, visit(value)]);
    const schema = Object.fromEntries(members);
    if (typeof $id !== "string") return schema;
    found[$id] = schema;
    return { $ref: pointer($id) };
  };
  const moved = visit(document) as D;
  Object.assign(moved.components.schemas, found);
  return moved;
}

const pointer = (id: string): string => `#/components/schemas/${id}`;
