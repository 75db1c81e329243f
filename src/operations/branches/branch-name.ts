import { Type } from "@sinclair/typebox";

export const branchNameSchema = Type.String({ minLength: 1, description: "name of the branch" });
