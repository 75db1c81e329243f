import fc from "fast-check";
import type { Json } from "./client.js";

/** Values with one member, at any depth, replaced, removed, renamed or added. */
export const mutated = (
  whole: fc.Arbitrary<Json>,
  wrong: fc.Arbitrary<unknown>,
  /** Names of members that are added or renamed. */
  names: fc.Arbitrary<string> = fc.string(),
): fc.Arbitrary<unknown> =>
  fc
    .tuple(whole, fc.nat(), wrong, fc.constantFrom("replace", "remove", "rename", "add"), names)
    .map(([valid, at, value, how, name]) => {
      const copy = structuredClone(valid);
      const places = containers(copy);
      const container = places[at % places.length] as Json;
      const keys = Object.keys(container);
      const key = keys[at % Math.max(keys.length, 1)];
      if (how === "add" || key === undefined) {
        if (Array.isArray(container)) container.push(value);
        else container[name] = value;
      } else if (how === "replace") container[key] = value;
      else if (how === "rename" && !Array.isArray(container)) {
        container[name] = container[key];
        if (name !== key) delete container[key];
      } else if (Array.isArray(container)) container.splice(Number(key), 1);
      else delete container[key];
      return copy;
    });

/** The value, if it is an object or an array, and all objects and arrays in it. */
export function containers(value: Json): Json[] {
  if (value === null || typeof value !== "object") return [];
  return [value, ...Object.values(value).flatMap(containers)];
}
