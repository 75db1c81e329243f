interface Document {
  components: { schemas: Record<string, unknown> };
}

/** Moves schemas that have an `$id` to the components of the document and replaces them by references. */
export function withComponents<D extends Document>(document: D): D {
  const components: Record<string, unknown> = {};
  const visit = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(visit);
    if (node === null || typeof node !== "object") return node;
    const { $id, $ref, ...rest } = node as Record<string, unknown>;
    if (typeof $ref === "string") return { $ref: $ref.startsWith("#") ? $ref : pointer($ref) };
    const members = Object.entries(rest).map(([name, value]) => [name, visit(value)]);
    const schema = Object.fromEntries(members);
    if (typeof $id !== "string") return schema;
    components[$id] = schema;
    return { $ref: pointer($id) };
  };
  const moved = visit(document) as D;
  Object.assign(moved.components.schemas, components);
  return moved;
}

const pointer = (id: string): string => `#/components/schemas/${id}`;
