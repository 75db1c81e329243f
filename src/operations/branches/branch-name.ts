import { Type } from "@sinclair/typebox";

export const name = Type.String({ minLength: 1, description: "name of the branch" });

export const fromBranch = Type.String({ minLength: 1, description: "name of the branch" });
