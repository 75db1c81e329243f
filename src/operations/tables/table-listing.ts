import { Type } from "@sinclair/typebox";
import { nextPage } from "../../api/schemas.js";

export const included = Type.Object({
  include_declared: Type.Optional(
    Type.Boolean({ description: "also tables that are only declared; default: true" }),
  ),
});

export const reply = Type.Object({ tables: Type.Array(Type.String()), page_token: nextPage });
