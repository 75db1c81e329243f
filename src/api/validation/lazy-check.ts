import type { TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";

/**
 * The validator of a schema. The first use compiles it: the server has some two hundred schemas, and most servers use
 * few of them.
 */
export class LazyCheck {
  #compiled: TypeCheck<TSchema> | undefined;

  constructor(private readonly schema: TSchema) {}

  get compiled(): TypeCheck<TSchema> {
    this.#compiled ??= TypeCompiler.Compile(this.schema);
    return this.#compiled;
  }
}
