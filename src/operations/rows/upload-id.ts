import { Type } from "@sinclair/typebox";

export const uploadId = Type.String({
  minLength: 1,
  description: "upload_id of the reply to CreateMultipartWrite",
});
