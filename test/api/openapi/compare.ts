import type { Json } from "../../harness/client.js";

/** Who reads what the schema describes: the server a request, a client a reply. */
type Direction = "request" | "reply";

/** One way to be valid; a schema is a choice of them. */
interface Option {
  readonly type: string;
  readonly schema: Json;
}

/**
 * What of an interface another description of it does not keep, a line each.
 *
 * Requests: all that the interface lets a client send must be taken. Replies: what it promises must
 * be there, in a type it knows. Either may know more members than the interface.
 */
export function differences(theirs: Json, ours: Json): string[] {
  const found: string[] = [];
  for (const [path, item] of Object.entries<Json>(theirs.paths)) {
    for (const [method, operation] of Object.entries<Json>(item)) {
      if (method === "parameters") continue;
      const own = ours.paths[path]?.[method];
      if (own === undefined) {
        found.push(`${operation.operationId}: missing at ${method} ${path}`);
        continue;
      }
      const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])];
      const comparison = new Comparison(theirs, ours, found);
      comparison.parameters(operation.operationId, parameters, own.parameters);
      comparison.body(operation, own);
      comparison.replies(operation, own);
    }
  }
  return [...new Set(found)];
}

class Comparison {
  /** References that led to what is being compared. */
  private readonly path: string[] = [];

  constructor(
    private readonly theirs: Json,
    private readonly ours: Json,
    private readonly found: string[],
  ) {}

  parameters(id: string, theirs: Json[], ours: Json[]): void {
    for (const one of theirs.map((parameter) => resolve(this.theirs, parameter))) {
      const own = ours.find(({ name, in: place }) => name === one.name && place === one.in);
      const where = `${id} ?${one.name}`;
      if (own === undefined) this.found.push(`${where}: missing`);
      else {
        if (own.required && !one.required) this.found.push(`${where}: required`);
        // No query says null.
        this.schema("request", where, one.schema, { anyOf: [own.schema, { type: "null" }] });
      }
    }
  }

  body({ operationId: id, requestBody }: Json, own: Json): void {
    const { content = {} } = resolve(this.theirs, requestBody ?? {});
    for (const [type, { schema }] of Object.entries<Json>(content)) {
      const taken = own.requestBody?.content?.[type];
      if (taken === undefined) this.found.push(`${id}: takes no ${type}`);
      else this.schema("request", `${id} <`, schema, taken.schema);
    }
  }

  replies({ operationId: id, responses }: Json, own: Json): void {
    for (const [status, reference] of Object.entries<Json>(responses)) {
      const fails = status === "5XX" || Number(status) >= 400;
      const given = own.responses[status] ?? (fails ? own.responses.default : undefined);
      if (given === undefined) {
        this.found.push(`${id}: never answers ${status}`);
        continue;
      }
      const { content = {} } = resolve(this.theirs, reference);
      for (const [type, { schema }] of Object.entries<Json>(content)) {
        const shape = resolve(this.ours, given).content?.[type];
        if (shape === undefined) this.found.push(`${id} ${status}: answers no ${type}`);
        else this.schema("reply", `${id} ${fails ? "!" : ">"}`, schema, shape.schema);
      }
    }
  }

  schema(direction: Direction, where: string, theirs: Json, ours: Json, depth = 0): void {
    if (typeof theirs.$ref === "string") {
      // Schemas that hold themselves are compared once.
      if (this.path.includes(theirs.$ref)) return;
      this.path.push(theirs.$ref);
      this.schema(direction, where, resolve(this.theirs, theirs), ours, depth);
      this.path.pop();
      return;
    }
    const wanted = options(this.theirs, theirs);
    const given = options(this.ours, ours);
    const [sent, read] = direction === "request" ? [wanted, given] : [given, wanted];
    for (const type of new Set(sent.map((option) => option.type))) {
      if (read.some((option) => takes(option.type, type))) continue;
      this.found.push(`${where}: ${typesOf(sent)} where ${typesOf(read)} is read`);
    }
    for (const option of wanted) {
      const same = given.filter(({ type }) => type === option.type);
      if (same.length === 0) continue;
      const schemas = same.map(({ schema }) => schema);
      if (direction === "request") this.narrower(where, option.schema, schemas);
      this.members(direction, where, option.schema, schemas, depth);
    }
  }

  /** Values that the interface allows and none of our schemas does. */
  narrower(where: string, theirs: Json, ours: Json[]): void {
    for (const bound of ["minimum", "minLength", "minItems"]) {
      const least = Math.min(...ours.map((schema) => schema[bound] ?? Number.NEGATIVE_INFINITY));
      if (least > (theirs[bound] ?? 0)) this.found.push(`${where}: ${bound} ${least}`);
    }
    const known = ours.flatMap((schema) => schema.enum ?? []);
    const unknown = (theirs.enum ?? []).filter((value: Json) => !known.includes(value));
    if (known.length > 0 && unknown.length > 0) this.found.push(`${where}: not ${unknown}`);
  }

  members(direction: Direction, where: string, theirs: Json, ours: Json[], depth: number): void {
    const next = depth + 1;
    if (theirs.items) {
      const items = ours.map((schema) => schema.items ?? {});
      this.schema(direction, `${where}[]`, theirs.items, { anyOf: items }, next);
    }
    if (typeof theirs.additionalProperties === "object") {
      const values = ours.map((schema) => schema.additionalProperties ?? {});
      this.schema(direction, `${where}.*`, theirs.additionalProperties, { anyOf: values }, next);
    }
    for (const [name, member] of Object.entries<Json>(theirs.properties ?? {})) {
      const own = ours.map((schema) => schema.properties?.[name]).filter(Boolean);
      if (own.length === 0) this.found.push(`${where}.${name}: missing`);
      else {
        // In a body's own members null is as good as nothing.
        const isNull = direction === "request" && depth === 0 ? [{ type: "null" }] : [];
        this.schema(direction, `${where}.${name}`, member, { anyOf: [...own, ...isNull] }, next);
      }
    }
    const required = (schemas: Json[]): string[] =>
      schemas
        .map((schema): string[] => schema.required ?? [])
        .reduce((some, others) => some.filter((name) => others.includes(name)));
    const [demanded, promised] = [required(ours), required([theirs])];
    if (direction === "request") {
      const extra = demanded.filter((name) => !promised.includes(name));
      for (const name of extra) this.found.push(`${where}.${name}: required`);
    } else {
      const absent = promised.filter((name) => !demanded.includes(name));
      for (const name of absent) this.found.push(`${where}.${name}: not promised`);
    }
  }
}

function resolve(document: Json, schema: Json): Json {
  if (typeof schema.$ref !== "string") return schema;
  const names = schema.$ref.slice(2).split("/");
  const target = names.reduce((node: Json, name: string) => node[name], document);
  return resolve(document, target);
}

/** The ways in which a value can fit a schema, by type. */
function options(document: Json, reference: Json): Option[] {
  const schema = resolve(document, reference);
  const choices: Json[] | undefined = schema.anyOf ?? schema.oneOf;
  if (choices) return choices.flatMap((one) => options(document, one));
  if (schema.allOf) {
    const parts: Json[] = schema.allOf.filter((one: Json) => !("not" in one));
    return [{ type: "object", schema: merged(parts.map((one) => resolve(document, one))) }];
  }
  const { type = "const" in schema ? typeof schema.const : "any" } = schema;
  const types: string[] = [type].flat();
  const isNull = { type: "null", schema: { type: "null" } };
  return [...types.map((type) => ({ type, schema })), ...(schema.nullable ? [isNull] : [])];
}

const merged = (schemas: Json[]): Json => ({
  type: "object",
  properties: Object.assign({}, ...schemas.map((schema) => schema.properties)),
  required: schemas.flatMap((schema) => schema.required ?? []),
});

const takes = (reader: string, type: string): boolean =>
  reader === type || reader === "any" || (reader === "number" && type === "integer");

const typesOf = (some: Option[]): string => [...new Set(some.map(({ type }) => type))].join(" | ");
