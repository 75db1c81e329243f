import type { TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler, type ValueError } from "@sinclair/typebox/compiler";
import { invalidInput, type JoustError } from "../../foundation/errors.js";

/** Validates decoded JSON bodies of one operation; compiled once. */
export class BodyCheck {
  readonly #check: TypeCheck<TSchema>;
  /** Members that may be left out and not be null: a null of theirs counts as left out. */
  readonly #optional: ReadonlySet<string>;

  constructor(schema: TSchema) {
    this.#check = TypeCompiler.Compile(schema);
    const required = new Set<string>(schema.required ?? []);
    const members: Record<string, TSchema> = schema.properties ?? {};
    const names = Object.keys(members).filter((name) => !required.has(name));
    this.#optional = new Set(names.filter((name) => !takesNull(members[name])));
  }

  /** @throws JoustError (code 13) that names the first wrong member and what is right. */
  validate(body: Record<string, unknown>): void {
    if (this.#check.Check(body)) return;
    for (const name of this.#optional) {
      if (body[name] === null) delete body[name];
    }
    const wrong = this.#check.Errors(body).First();
    if (wrong) throw mismatch(wrong);
  }
}

const takesNull = (schema: TSchema | undefined): boolean =>
  schema?.type === "null" || (schema?.anyOf ?? []).some(takesNull);

/** What a validator found, as a sentence: "`k` must be an integer >= 0, got \"ten\"". */
export function mismatch(found: ValueError): JoustError {
  const wrong = innermost(found);
  const name = wrong.path.slice(1).split("/").map(unescapePointer).join(".");
  const subject = name === "" ? "the body" : `\`${name}\``;
  if (wrong.value === undefined)
    return invalidInput(`${subject} is missing: it must be ${expected(wrong.schema)}`);
  return invalidInput(`${subject} must be ${expected(wrong.schema)}, got ${shown(wrong.value)}`);
}

/** Of a value that is not null where it may be null or one other thing: what makes it not that thing. */
function innermost(found: ValueError): ValueError {
  if (found.value === null || found.value === undefined) return found;
  const options: TSchema[] = found.schema.anyOf ?? [];
  const other = options.findIndex((schema) => schema.type !== "null");
  if (options.length !== 2 || options[1 - other]?.type !== "null") return found;
  const inner = found.errors[other]?.First();
  return inner === undefined ? found : innermost(inner);
}

/** `~1` and `~0` of JSON pointers. */
const unescapePointer = (part: string): string => part.replaceAll("~1", "/").replaceAll("~0", "~");

/** A value in a message: JSON, cut short. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

/** A schema in words: "an integer >= 0", "one of \"create\", \"overwrite\"". */
export function expected(schema: TSchema): string {
  if (Array.isArray(schema.anyOf)) return alternatives(schema.anyOf);
  if (Array.isArray(schema.enum)) return oneOf(schema.enum);
  if ("const" in schema) return JSON.stringify(schema.const);
  switch (schema.type) {
    case "integer":
      return `an integer${bounds(schema)}`;
    case "number":
      return `a number${bounds(schema)}`;
    case "string":
      return `a string${lengths(schema, "character")}`;
    case "boolean":
      return "true or false";
    case "array":
      return `an array of ${plural(schema.items)}${lengths(schema, "item")}`;
    case "object":
      return typeof schema.additionalProperties === "object"
        ? `an object of ${plural(schema.additionalProperties)}`
        : "an object";
    case "null":
      return "null";
    default:
      return "another value";
  }
}

function alternatives(schemas: TSchema[]): string {
  if (schemas.every((schema) => "const" in schema)) {
    return oneOf(schemas.map((schema) => schema.const));
  }
  return schemas.map(expected).join(" or ");
}

const oneOf = (values: unknown[]): string =>
  `one of ${values.map((value) => JSON.stringify(value)).join(", ")}`;

function bounds(schema: TSchema): string {
  const parts = [
    schema.minimum !== undefined ? `>= ${schema.minimum}` : undefined,
    schema.exclusiveMinimum !== undefined ? `> ${schema.exclusiveMinimum}` : undefined,
    schema.maximum !== undefined ? `<= ${schema.maximum}` : undefined,
    schema.exclusiveMaximum !== undefined ? `< ${schema.exclusiveMaximum}` : undefined,
  ].filter((part) => part !== undefined);
  return parts.length > 0 ? ` ${parts.join(" and ")}` : "";
}

function lengths(schema: TSchema, unit: string): string {
  const least = schema.minLength ?? schema.minItems;
  const most = schema.maxLength ?? schema.maxItems;
  const parts = [
    least !== undefined ? `at least ${least}` : undefined,
    most !== undefined ? `at most ${most}` : undefined,
  ].filter((part) => part !== undefined);
  return parts.length > 0 ? ` of ${parts.join(" and ")} ${unit}s` : "";
}

function plural(schema: TSchema | undefined): string {
  switch (schema?.type) {
    case "string":
      return "strings";
    case "integer":
      return "integers";
    case "number":
      return "numbers";
    case "boolean":
      return "booleans";
    case "array":
      return "arrays";
    case "object":
      return "objects";
    default:
      return "values";
  }
}
