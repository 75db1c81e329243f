import { Type } from "@sinclair/typebox";
import { stringMap } from "../../../api/schemas.js";

const field = Type.Recursive(
  (field) =>
    Type.Object({
      name: Type.String(),
      type: Type.Object({
        type: Type.String({ description: "Arrow's name of the type: utf8, int64, list, ..." }),
        fields: Type.Optional(Type.Array(field, { description: "nested types only" })),
        length: Type.Optional(Type.Integer({ minimum: 0, description: "fixed-size types only" })),
      }),
      nullable: Type.Boolean(),
      metadata: Type.Optional(stringMap),
    }),
  { $id: "JsonArrowField" },
);

/** An Arrow schema as JSON. LanceDB SDKs get Lance's names of the types. */
export const arrowSchema = Type.Object({
  fields: Type.Array(field),
  metadata: Type.Optional(stringMap),
});
