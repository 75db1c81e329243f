/** What the requests that begin jobs have in common. */
import { type TSchema, Type } from "@sinclair/typebox";

/** A whole number, null for the default. */
export const whole = (minimum: number, description: string) =>
  Type.Optional(Type.Union([Type.Integer({ minimum, description }), Type.Null()]));

/** A member that tunes another executor: checked, taken and of no effect here. */
export const tuning = <T extends TSchema>(schema: T) =>
  Type.Optional(
    Type.Union([schema, Type.Null()], { description: "taken; has no effect on this server" }),
  );
