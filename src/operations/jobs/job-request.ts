/** Schemas of requests that enqueue a job. */
import { type TSchema, Type } from "@sinclair/typebox";

/** An integer; null is the default. */
export const optionalInteger = (minimum: number, description: string) =>
  Type.Optional(Type.Union([Type.Integer({ minimum, description }), Type.Null()]));

/** An option of another executor. The server checks its type and ignores it. */
export const ignoredOption = <T extends TSchema>(schema: T) =>
  Type.Optional(Type.Union([schema, Type.Null()], { description: "no effect on this server" }));
