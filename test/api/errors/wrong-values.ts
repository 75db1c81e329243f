import type { TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { Json } from "../../harness/client.js";

/** A value that a schema rejects, and the path to the invalid member. */
export interface Wrong {
  readonly value: Json;
  readonly path: readonly string[];
}

/** Values of every type, and at numeric and text limits. */
const candidates: readonly Json[] = [
  null,
  true,
  -1,
  -2,
  0,
  1.5,
  1e300,
  "",
  "x",
  [],
  [[]],
  [null],
  [1],
  ["x", 1],
  {},
  { x: 1 },
];

type Known = ReadonlyMap<string, TSchema>;

/** Values with the wrong type, out of range, too short or incomplete: each invalid in one place. */
export function wrongValues(schema: TSchema, known: Known = new Map()): Wrong[] {
  const seen = schema.$id === undefined ? known : new Map([...known, [schema.$id, schema]]);
  // A recursive schema is visited once.
  if (typeof schema.$ref === "string") return [];
  const here = candidates.filter((value) => !accepts(schema, value, seen));
  return [
    ...here.map((value) => ({ value, path: [] })),
    // A value that one alternative rejects may be valid for another one.
    ...options(schema)
      .flatMap((option) => inside(option, seen))
      .filter(({ value }) => !accepts(schema, value, seen)),
  ];
}

function inside(schema: TSchema, known: Known): Wrong[] {
  if (schema.type === "array") {
    return wrongValues(schema.items, known).map(({ value, path }) => ({ value: [value], path }));
  }
  const members: [string, TSchema][] = Object.entries(schema.properties ?? {});
  const required: string[] = schema.required ?? [];
  const base = minimal(schema, known);
  const without = required.map((name) => {
    const { [name]: _, ...value } = base;
    return { value, path: [name] };
  });
  const wrong = members.flatMap(([name, member]) =>
    wrongValues(member, known).map(({ value, path }) => ({
      value: { ...base, [name]: value },
      path: [name, ...path],
    })),
  );
  return [...without, ...wrong];
}

/** The smallest value that a schema accepts. */
export function minimal(schema: TSchema, known: Known = new Map()): Json {
  if (typeof schema.$ref === "string") return minimal(known.get(schema.$ref) as TSchema, known);
  const seen = schema.$id === undefined ? known : new Map([...known, [schema.$id, schema]]);
  const [option = schema] = options(schema);
  switch (option.type) {
    case "object": {
      const names: string[] = option.required ?? [];
      const members = names.map((name) => [name, minimal(option.properties[name], seen)]);
      return Object.fromEntries(members);
    }
    case "array":
      return Array.from({ length: option.minItems ?? 0 }, () => minimal(option.items, seen));
    case "string":
      return option.pattern ? "and" : "x";
    case "integer":
    case "number":
      return option.minimum ?? 0;
    case "boolean":
      return true;
    default:
      return null;
  }
}

const options = (schema: TSchema): TSchema[] =>
  (schema.anyOf ?? schema.allOf?.slice(0, 1) ?? [schema]).flatMap((one: TSchema) =>
    one === schema ? [schema] : options(one),
  );

const accepts = (schema: TSchema, value: Json, known: Known): boolean =>
  Value.Check(schema, [...known.values()], value);
