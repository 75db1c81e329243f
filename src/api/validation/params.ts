import type { TSchema } from "@sinclair/typebox";
import { invalidInput } from "../../foundation/errors.js";
import type { RawParams } from "../operation.js";
import { mismatch } from "./body-check.js";
import { decode } from "./identifier.js";
import { LazyCheck } from "./lazy-check.js";

const empty: RawParams = Object.freeze({});

/** Parses a query string: percent-decodes, reads `+` as a space, collects a repeated parameter in an array. */
export function parseQuery(query: string): RawParams {
  if (query === "") return empty;
  const params: Record<string, string | string[]> = Object.create(null);
  for (const pair of query.split("&")) {
    if (pair === "") continue;
    const at = pair.indexOf("=");
    const name = decodePart(at < 0 ? pair : pair.slice(0, at));
    const value = at < 0 ? "" : decodePart(pair.slice(at + 1));
    const before = params[name];
    if (before === undefined) params[name] = value;
    else if (Array.isArray(before)) before.push(value);
    else params[name] = [before, value];
  }
  return params;
}

const decodePart = (part: string): string => decode(part.replaceAll("+", " "), "the query string");

/** Converts the query parameters of one operation to the types of its schema and validates them. It drops unknown ones. */
export class ParamReader {
  readonly #check: LazyCheck;
  readonly #members: readonly { name: string; types: ReadonlySet<string> }[];
  #mayBeEmpty: boolean | undefined;

  constructor(schema: TSchema) {
    this.#check = new LazyCheck(schema);
    this.#members = Object.entries((schema.properties ?? {}) as Record<string, TSchema>).map(
      ([name, member]) => ({ name, types: typesOf(member) }),
    );
  }

  /** @throws code 13; the message names the first invalid parameter and what it must be */
  read(raw: RawParams): Record<string, unknown> {
    if (raw === empty) {
      this.#mayBeEmpty ??= this.#check.compiled.Check(empty);
      if (this.#mayBeEmpty) return empty as Record<string, unknown>;
    }
    const params: Record<string, unknown> = {};
    for (const { name, types } of this.#members) {
      const value = raw[name];
      if (value !== undefined) params[name] = convert(name, value, types);
    }
    if (!this.#check.compiled.Check(params)) {
      const error = this.#check.compiled.Errors(params).First();
      if (error) throw mismatch(error);
    }
    return params;
  }
}

function typesOf(schema: TSchema): ReadonlySet<string> {
  const schemas: TSchema[] = schema.anyOf ?? [schema];
  return new Set(schemas.map((option) => String(option.type ?? typeof option.const)));
}

/** Converts text to one of the types. Text of another form stays text: the validator then reports it. */
function convert(name: string, value: string | string[], types: ReadonlySet<string>): unknown {
  if (types.has("array")) return Array.isArray(value) ? value : [value];
  if (Array.isArray(value))
    throw invalidInput(`\`${name}\` appears ${value.length} times: send it once`);
  if (types.has("boolean")) {
    if (/^true$/i.test(value)) return true;
    if (/^false$/i.test(value)) return false;
  }
  if ((types.has("integer") || types.has("number")) && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(value)) {
    return Number(value);
  }
  return value;
}
