import { Type } from "@sinclair/typebox";
import { stringMap } from "../../../api/schemas.js";

const field = Type.Recursive(
  (field) =>
    Type.Object({
      name: Type.String(),
      type: Type.Object({
        type: Type.String({ description: "utf8, int64, list, ... as Arrow names them" }),
        fields: Type.Optional(Type.Array(field, { description: "of nested types" })),
        length: Type.Optional(Type.Integer({ minimum: 0, description: "of fixed-size types" })),
      }),
      nullable: Type.Boolean(),
      metadata: Type.Optional(stringMap),
    }),
  { $id: "JsonArrowField" },
);

/** An Arrow schema as JSON; LanceDB SDKs get Lance's names of types. */
export const arrowSchema = Type.Object({
  fields: Type.Array(field),
  metadata: Type.Optional(stringMap),
});
