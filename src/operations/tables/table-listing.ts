import { Type } from "@sinclair/typebox";
import { nextPage } from "../../api/schemas.js";

export const listingOptions = Type.Object({
  include_declared: Type.Optional(
    Type.Boolean({ description: "include tables that are only declared; default: true" }),
  ),
});

export const listingReply = Type.Object({
  tables: Type.Array(Type.String()),
  page_token: nextPage,
});
