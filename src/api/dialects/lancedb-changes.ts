/** How the LanceDB SDKs tell changes, tags and branches where it differs from the namespace form. */
import type { Translation } from "../operation.js";
import { onValue } from "./on-value.js";

export const changes: Record<string, Omit<Translation, "operation">> = {
  // They refuse a reply that has both names.
  UpdateTable: {
    reply: onValue(({ updated_rows, ...rest }) => ({ rows_updated: updated_rows, ...rest })),
  },
  ListTableTags: { reply: onValue(({ tags }) => tags) },
};
