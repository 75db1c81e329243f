import { nothing } from "../../api/schemas.js";

export const shared = { tag: "View", params: nothing } as const;
