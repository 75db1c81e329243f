import type { Json } from "../../harness/client.js";

/** The reader of a schema: the server for a request, the client for a reply. */
type Direction = "request" | "reply";

/** One alternative of a schema. */
interface Option {
  readonly type: string;
  readonly schema: Json;
}

/**
 * The incompatibilities of an OpenAPI document with a public interface, one line each.
 *
 * Requests: the document must accept everything that the interface lets a client send. Replies: the
 * document must contain every promised member with a type of the interface. Additional members are
 * compatible in both.
 */
export function differences(theirs: Json, ours: Json): string[] {
  const result: string[] = [];
  for (const [path, item] of Object.entries<Json>(theirs.paths)) {
    for (const [method, operation] of Object.entries<Json>(item)) {
      if (method === "parameters") continue;
      const own = ours.paths[path]?.[method];
      if (own === undefined) {
        result.push(`${operation.operationId}: missing at ${method} ${path}`);
        continue;
      }
      const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])];
      const comparison = new Comparison(theirs, ours, result);
      comparison.parameters(operation.operationId, parameters, own.parameters);
      comparison.body(operation, own);
      comparison.replies(operation, own);
    }
  }
  return [...new Set(result)];
}

class Comparison {
  /** References on the path to the compared schema. */
  private readonly path: string[] = [];

  constructor(
    private readonly theirs: Json,
    private readonly ours: Json,
    private readonly differences: string[],
  ) {}

  parameters(id: string, theirs: Json[], ours: Json[]): void {
    for (const one of theirs.map((parameter) => resolve(this.theirs, parameter))) {
      const own = ours.find(({ name, in: place }) => name === one.name && place === one.in);
      const where = `${id} ?${one.name}`;
      if (own === undefined) this.differences.push(`${where}: missing`);
      else {
        if (own.required && !one.required) this.differences.push(`${where}: required`);
        // A query parameter cannot be null.
        this.schema("request", where, one.schema, { anyOf: [own.schema, { type: "null" }] });
      }
    }
  }

  body({ operationId: id, requestBody }: Json, own: Json): void {
    const { content = {} } = resolve(this.theirs, requestBody ?? {});
    for (const [type, { schema }] of Object.entries<Json>(content)) {
      const taken = own.requestBody?.content?.[type];
      if (taken === undefined) this.differences.push(`${id}: takes no ${type}`);
      else this.schema("request", `${id} <`, schema, taken.schema);
    }
  }

  replies({ operationId: id, responses }: Json, own: Json): void {
    for (const [status, reference] of Object.entries<Json>(responses)) {
      const fails = status === "5XX" || Number(status) >= 400;
      const given = own.responses[status] ?? (fails ? own.responses.default : undefined);
      if (given === undefined) {
        this.differences.push(`${id}: never answers ${status}`);
        continue;
      }
      const { content = {} } = resolve(this.theirs, reference);
      for (const [type, { schema }] of Object.entries<Json>(content)) {
        const shape = resolve(this.ours, given).content?.[type];
        if (shape === undefined) this.differences.push(`${id} ${status}: answers no ${type}`);
        else this.schema("reply", `${id} ${fails ? "!" : ">"}`, schema, shape.schema);
      }
    }
  }

  schema(direction: Direction, where: string, theirs: Json, ours: Json, depth = 0): void {
    if (typeof theirs.$ref === "string") {
      // A recursive schema is compared once.
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
      this.differences.push(`${where}: ${typesOf(sent)} where ${typesOf(read)} is read`);
    }
    for (const option of wanted) {
      const same = given.filter(({ type }) => type === option.type);
      if (same.length === 0) continue;
      const schemas = same.map(({ schema }) => schema);
      if (direction === "request") this.narrower(where, option.schema, schemas);
      this.members(direction, where, option.schema, schemas, depth);
    }
  }

  /** Values that the interface allows and joust's schema does not. */
  narrower(where: string, theirs: Json, ours: Json[]): void {
    for (const bound of ["minimum", "minLength", "minItems"]) {
      const least = Math.min(...ours.map((schema) => schema[bound] ?? Number.NEGATIVE_INFINITY));
      if (least > (theirs[bound] ?? 0)) this.differences.push(`${where}: ${bound} ${least}`);
    }
    const known = ours.flatMap((schema) => schema.enum ?? []);
    const unknown = (theirs.enum ?? []).filter((value: Json) => !known.includes(value));
    if (known.length > 0 && unknown.length > 0) this.differences.push(`${where}: not ${unknown}`);
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
      if (own.length === 0) this.differences.push(`${where}.${name}: missing`);
      else {
        // Null in a member of a body means absent.
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
      for (const name of extra) this.differences.push(`${where}.${name}: required`);
    } else {
      const absent = promised.filter((name) => !demanded.includes(name));
      for (const name of absent) this.differences.push(`${where}.${name}: not promised`);
    }
  }
}

function resolve(document: Json, schema: Json): Json {
  if (typeof schema.$ref !== "string") return schema;
  const names = schema.$ref.slice(2).split("/");
  const target = names.reduce((node: Json, name: string) => node[name], document);
  return resolve(document, target);
}

/** The alternatives of a schema by type. */
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
