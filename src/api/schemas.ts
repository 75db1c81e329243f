/** Schemas that several operations share. */
import { type ObjectOptions, type Static, type TSchema, Type } from "@sinclair/typebox";

/** No parameters, or a JSON body with no member but the common ones. */
export const nothing = Type.Object({});

/**
 * An object whose members all have the same schema. `Type.Record` would skip names with a line break, because its
 * pattern does not match them.
 */
export const mapOf = <S extends TSchema>(member: S, options: ObjectOptions = {}) =>
  Type.Unsafe<Record<string, Static<S>>>(
    Type.Object({}, { additionalProperties: member, ...options }),
  );

/** A map of strings: properties, storage options, metadata. */
export const stringMap = mapOf(Type.String());

const textOrNull = Type.Optional(Type.Union([Type.String(), Type.Null()]));

/** Members that every JSON body may have. The pipeline reads them before the handler. */
export const commonMembers = {
  id: Type.Optional(Type.Array(Type.String(), { description: "same as in the path, or absent" })),
  context: Type.Optional(stringMap),
  identity: Type.Optional(
    Type.Object(
      { api_key: textOrNull, auth_token: textOrNull },
      { description: "the caller's key, if no header has it" },
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
    description: "maximum number of items in the reply",
  }),
);
const pageToken = Type.Optional(
  Type.String({ description: "page_token of the previous page; empty for the first" }),
);

/** The paging members of a listing. The query and the body have the same. */
export const page = Type.Object({ limit, page_token: pageToken });
export const allTablesPage = Type.Object({
  limit,
  page_token: pageToken,
  delimiter,
});

/** The `page_token` of every listing's reply; absent on the last page. */
export const nextPage = Type.Optional(Type.String());

export const predicate = Type.String({
  minLength: 1,
  description: "SQL over the table's columns that selects the rows",
});

export const count = Type.Integer({ minimum: 0 });
export const transactionId = Type.Optional(Type.String());
