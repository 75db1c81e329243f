import type { TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import fc from "fast-check";

/** Recursion limit for recursive schemas. */
const DEPTH = 3;

const names = fc.constantFrom("a", "b c", "line\nbreak", "__proto__x", "ü");
const strings = fc.oneof(fc.constantFrom("", "x", "id", "l2"), fc.string({ maxLength: 8 }));

/** Values that a schema accepts, in all of its alternatives. */
export function valuesOf(schema: TSchema): fc.Arbitrary<unknown> {
  return values(schema, new Map(), DEPTH).filter((value) => Value.Check(schema, [], value));
}

function values(
  schema: TSchema,
  known: Map<string, TSchema>,
  depth: number,
): fc.Arbitrary<unknown> {
  if (typeof schema.$ref === "string") {
    return values(known.get(schema.$ref) as TSchema, known, depth - 1);
  }
  const seen = schema.$id === undefined ? known : new Map([...known, [schema.$id, schema]]);
  const choices: TSchema[] | undefined = schema.anyOf;
  if (choices) {
    const shallow = choices.filter((choice) => !holdsReference(choice));
    const left = depth > 0 || shallow.length === 0 ? choices : shallow;
    return fc.oneof(...left.map((choice) => values(choice, seen, depth)));
  }
  if (schema.allOf) return values(schema.allOf[0], seen, depth);
  if ("const" in schema) return fc.constant(schema.const);
  switch (schema.type) {
    case "object":
      return object(schema, seen, depth);
    case "array":
      return fc.array(values(schema.items, seen, depth), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.max(schema.minItems ?? 0, depth > 0 ? 3 : 0),
      });
    case "integer":
      return integers(schema);
    case "number":
      return numbers(schema);
    case "string":
      if (schema.pattern) return fc.constantFrom("AND", "or", "Auto");
      return strings.filter((text) => text.length >= (schema.minLength ?? 0));
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    default:
      return fc.jsonValue({ maxDepth: 1 });
  }
}

function object(schema: TSchema, known: Map<string, TSchema>, depth: number) {
  const members: [string, TSchema][] = Object.entries(schema.properties ?? {});
  const model = Object.fromEntries(
    members.map(([name, member]) => [name, values(member, known, depth)]),
  );
  const requiredKeys = (schema.required ?? []) as never[];
  const own = fc.record(model, { requiredKeys, noNullPrototype: true });
  if (typeof schema.additionalProperties !== "object") return own;
  const more = fc.dictionary(names, values(schema.additionalProperties, known, depth), {
    maxKeys: 3,
    noNullPrototype: true,
  });
  return fc.tuple(own, more).map(([some, others]) => ({ ...others, ...some }));
}

function integers({ minimum = 0, maximum, exclusiveMaximum }: TSchema): fc.Arbitrary<number> {
  const most = maximum ?? (exclusiveMaximum ?? 2 ** 53) - 1;
  const large = [2 ** 31, 2 ** 32 - 1, 2 ** 53, 2 ** 63].filter((value) => value <= most);
  return fc.oneof(fc.nat({ max: 100 }), fc.constantFrom(minimum, ...large));
}

function numbers(schema: TSchema): fc.Arbitrary<number> {
  const least = schema.minimum ?? schema.exclusiveMinimum ?? -1e308;
  const most = schema.maximum ?? schema.exclusiveMaximum ?? 1e308;
  const within = (value: number) => value >= least && value <= most;
  return fc.oneof(
    fc.double({ min: -1, max: 1, noNaN: true }).filter(within),
    fc.constantFrom(...[0, 1, -1.5, 1e30, 3.4028234663852886e38].filter(within)),
  );
}

const holdsReference = (schema: TSchema): boolean => JSON.stringify(schema).includes('"$ref"');
