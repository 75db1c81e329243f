/** Schemas that several operations share. */
import { type ObjectOptions, type Static, type TSchema, Type } from "@sinclair/typebox";

/** No parameters, or a JSON body with the common fields only. */
export const nothing = Type.Object({});

/**
 * An object whose members all have one schema, whatever their names. (`Type.Record` looks at names
 * that match a pattern, which one with a line break does not.)
 */
export const mapOf = <S extends TSchema>(member: S, options: ObjectOptions = {}) =>
  Type.Unsafe<Record<string, Static<S>>>(
    Type.Object({}, { additionalProperties: member, ...options }),
  );

/** A map of strings: properties, storage options, metadata. */
export const stringMap = mapOf(Type.String());

const textOrNull = Type.Optional(Type.Union([Type.String(), Type.Null()]));

/** Members that every JSON body may have; they are dealt with before the handler. */
export const commonMembers = {
  id: Type.Optional(Type.Array(Type.String(), { description: "as in the path, or left out" })),
  context: Type.Optional(stringMap),
  identity: Type.Optional(
    Type.Object(
      { api_key: textOrNull, auth_token: textOrNull },
      { description: "who asks, where no header says so" },
    ),
  ),
};

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
  Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: "most items the reply may hold",
  }),
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
