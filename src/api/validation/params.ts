import type { TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { invalidInput } from "../../foundation/errors.js";
import type { RawParams } from "../operation.js";
import { mismatch } from "./body-check.js";
import { decode } from "./identifier.js";

const none: RawParams = Object.freeze({});

/** Query parameters as they came: percent-decoded, `+` for a space, a repeated one as an array. */
export function parseQuery(query: string): RawParams {
  if (query === "") return none;
  const params: Record<string, string | string[]> = Object.create(null);
  for (const pair of query.split("&")) {
    if (pair === "") continue;
    const at = pair.indexOf("=");
    const name = text(at < 0 ? pair : pair.slice(0, at));
    const value = at < 0 ? "" : text(pair.slice(at + 1));
    const before = params[name];
    if (before === undefined) params[name] = value;
    else if (Array.isArray(before)) before.push(value);
    else params[name] = [before, value];
  }
  return params;
}

const text = (part: string): string => decode(part.replaceAll("+", " "), "the query string");

/** Converts one operation's query parameters to the types of its schema, and validates them. Unknown ones are left out. */
export class ParamReader {
  readonly #check: TypeCheck<TSchema>;
  readonly #members: readonly { name: string; types: ReadonlySet<string> }[];
  readonly #mayBeEmpty: boolean;

  constructor(schema: TSchema) {
    this.#check = TypeCompiler.Compile(schema);
    this.#members = Object.entries((schema.properties ?? {}) as Record<string, TSchema>).map(
      ([name, member]) => ({ name, types: typesOf(member) }),
    );
    this.#mayBeEmpty = this.#check.Check(none);
  }

  /** @throws JoustError (code 13) that names the first wrong parameter and what is right. */
  read(raw: RawParams): Record<string, unknown> {
    if (raw === none && this.#mayBeEmpty) return none as Record<string, unknown>;
    const params: Record<string, unknown> = {};
    for (const { name, types } of this.#members) {
      const value = raw[name];
      if (value !== undefined) params[name] = convert(name, value, types);
    }
    if (!this.#check.Check(params)) {
      const wrong = this.#check.Errors(params).First();
      if (wrong) throw mismatch(wrong);
    }
    return params;
  }
}

function typesOf(schema: TSchema): ReadonlySet<string> {
  const schemas: TSchema[] = schema.anyOf ?? [schema];
  return new Set(schemas.map((one) => String(one.type ?? typeof one.const)));
}

/** Text that does not read as the wanted type stays text: the validator then says what is right. */
function convert(name: string, value: string | string[], types: ReadonlySet<string>): unknown {
  if (types.has("array")) return Array.isArray(value) ? value : [value];
  if (Array.isArray(value))
    throw invalidInput(`\`${name}\` is given ${value.length} times: give it once`);
  if (types.has("boolean")) {
    if (/^true$/i.test(value)) return true;
    if (/^false$/i.test(value)) return false;
  }
  if ((types.has("integer") || types.has("number")) && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(value)) {
    return Number(value);
  }
  return value;
}
