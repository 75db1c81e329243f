import type { Operation } from "../../src/api/operation.js";
import { operations, translations } from "../../src/operations/index.js";

/** One operation at its path in one dialect. */
export interface Place {
  readonly operation: Operation;
  readonly path: string;
  readonly methods: readonly ("GET" | "POST")[];
}

/** Every operation of the server in each dialect. A new operation is among them. */
export const places: readonly Place[] = operations.flatMap((operation) => {
  const { dialect, path, methods } = operation;
  const translated = translations
    .filter((one) => one.operation === operation.id)
    .map((one) => ({
      operation,
      path: one.path ?? (dialect ? path : `${path}/`),
      methods: one.methods ?? methods,
    }));
  const canonical = { operation, path, methods };
  if (translated.some((place) => place.path === path)) return translated;
  return [canonical, ...translated];
});
