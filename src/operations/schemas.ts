/** Schemas that several operations share. */
import { Type } from "@sinclair/typebox";

/** No parameters, or a JSON body with the common fields only. */
export const nothing = Type.Object({});

/** A map of strings: properties, storage options, metadata. */
export const stringMap = Type.Record(Type.String(), Type.String());

export const delimiter = Type.Optional(
  Type.String({ minLength: 1, description: "separates the components of identifiers; default $" }),
);

export const version = Type.Optional(
  Type.Integer({ minimum: 0, description: "table version; default: the latest" }),
);

export const branch = Type.Optional(
  Type.String({ description: "branch to work on; default: main" }),
);

const limit = Type.Optional(
  Type.Integer({ minimum: 1, description: "most items the reply may hold" }),
);
const pageToken = Type.Optional(
  Type.String({ description: "page_token of the previous page; empty for the first" }),
);

/** Paging of a listing: the same in the query and in the body. */
export const page = Type.Object({ limit, page_token: pageToken });
export const allTablesPage = Type.Object({
  limit,
  page_token: pageToken,
  delimiter,
});

/** Reply members of every listing's end: no token, no more pages. */
export const nextPage = Type.Optional(Type.String());

export const predicate = Type.String({
  minLength: 1,
  description: "SQL over the table's columns; true for the rows meant",
});

export const count = Type.Integer({ minimum: 0 });
export const transactionId = Type.Optional(Type.String());
