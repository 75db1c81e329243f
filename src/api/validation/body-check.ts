import type { TSchema } from "@sinclair/typebox";
import type { ValueError } from "@sinclair/typebox/compiler";
import { invalidInput, type JoustError } from "../../foundation/errors.js";
import type { Operation } from "../operation.js";
import { withCommonMembers } from "./common-members.js";
import { LazyCheck } from "./lazy-check.js";

/** Validates the decoded JSON bodies of one operation. */
export class BodyCheck {
  readonly #check: LazyCheck;
  /** Optional members whose schema refuses null: null counts as absent. */
  readonly #optional: ReadonlySet<string>;

  constructor(schema: TSchema) {
    this.#check = new LazyCheck(schema);
    const required = new Set<string>(schema.required ?? []);
    const members: Record<string, TSchema> = schema.properties ?? {};
    const names = Object.keys(members).filter((name) => !required.has(name));
    this.#optional = new Set(names.filter((name) => !acceptsNull(members[name])));
  }

  /** @throws code 13; the message names the first invalid member and what it must be */
  validate(body: Record<string, unknown>): void {
    if (this.#check.compiled.Check(body)) return;
    for (const name of this.#optional) {
      if (body[name] === null) delete body[name];
    }
    const error = this.#check.compiled.Errors(body).First();
    if (error) throw mismatch(error);
  }
}

/** The validator of the JSON bodies of an operation; undefined for other kinds of body. */
export const bodyCheckOf = ({ body }: Operation): BodyCheck | undefined =>
  body.kind === "json" ? new BodyCheck(withCommonMembers(body.schema)) : undefined;

const acceptsNull = (schema: TSchema | undefined): boolean =>
  schema?.type === "null" || (schema?.anyOf ?? []).some(acceptsNull);

/** The error of a validator as a sentence: "`k` must be an integer >= 0, got \"ten\"". */
export function mismatch(error: ValueError): JoustError {
  const { path, value, schema } = innermost(error);
  const name = path.slice(1).split("/").map(unescapePointer).join(".");
  const subject = name === "" ? "the body" : `\`${name}\``;
  if (value === undefined) {
    return invalidInput(`${subject} is missing: it must be ${describeSchema(schema)}`);
  }
  return invalidInput(`${subject} must be ${describeSchema(schema)}, got ${abbreviate(value)}`);
}

/** For a union of null and one other schema: why a value that is not null does not match the other schema. */
function innermost(error: ValueError): ValueError {
  if (error.value === null || error.value === undefined) return error;
  const options: TSchema[] = error.schema.anyOf ?? [];
  const other = options.findIndex((schema) => schema.type !== "null");
  if (options.length !== 2 || options[1 - other]?.type !== "null") return error;
  const inner = error.errors[other]?.First();
  return inner === undefined ? error : innermost(inner);
}

/** Decodes `~1` and `~0` of JSON pointers. */
const unescapePointer = (part: string): string => part.replaceAll("~1", "/").replaceAll("~0", "~");

/** A value for a message: JSON of at most 80 characters. */
export function abbreviate(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

/** A schema in words: "an integer >= 0", "one of \"create\", \"overwrite\"". */
export function describeSchema(schema: TSchema): string {
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
  return schemas.map(describeSchema).join(" or ");
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
  const minimum = schema.minLength ?? schema.minItems;
  const maximum = schema.maxLength ?? schema.maxItems;
  const parts = [
    minimum !== undefined ? `at least ${minimum}` : undefined,
    maximum !== undefined ? `at most ${maximum}` : undefined,
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
