import type { PageRequest } from "../catalog/catalog.js";

interface Paging {
  limit?: number | undefined;
  page_token?: string | undefined;
}

/** The page asked for. A listing takes the same members in its query (GET) and in its body (POST). */
export function pageRequest(params: Paging, body: Paging = {}): PageRequest {
  const limit = body.limit ?? params.limit;
  const pageToken = body.page_token ?? params.page_token;
  return {
    ...(limit !== undefined && { limit }),
    ...(pageToken !== undefined && pageToken !== "" && { pageToken }),
  };
}

/** `page_token` of a reply; absent at the end. */
export const nextPageToken = (pageToken: string | undefined): { page_token?: string } =>
  pageToken === undefined ? {} : { page_token: pageToken };
