import { Type } from "@sinclair/typebox";
import type { PageRequest } from "../../catalog/catalog.js";

/** Entries of one page, also if the client asks for more. */
const MAX_RESULTS = 100;

/** Members of a request for a page. */
export const pageMembers = {
  continuation_token: Type.Optional(Type.String()),
  max_results: Type.Optional(
    Type.Integer({ minimum: 1, description: `at most ${MAX_RESULTS}, also the default` }),
  ),
};

/** The member of a reply that continues a listing. */
export const nextPage = { continuation_token: Type.Optional(Type.String()) };

export const readPage = (request: {
  continuation_token?: string;
  max_results?: number;
}): PageRequest => ({
  limit: Math.min(request.max_results ?? MAX_RESULTS, MAX_RESULTS),
  ...(request.continuation_token !== undefined && { pageToken: request.continuation_token }),
});

export const continuation = (pageToken: string | undefined) =>
  pageToken === undefined ? {} : { continuation_token: pageToken };
