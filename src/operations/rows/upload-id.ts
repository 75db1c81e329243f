import { Type } from "@sinclair/typebox";

export const uploadId = Type.String({
  minLength: 1,
  description: "as given when the upload was begun",
});
