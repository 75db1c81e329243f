/** The query of a view in the forms that clients send: SQL, or JSON. */
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { invalidInput } from "../../foundation/errors.js";

/** The JSON form of a view's metadata. */
const definition = Type.Object({
  kind: Type.Optional(Type.Literal("query")),
  query: Type.String(),
});

/** A query that a client of LanceDB has built: `table.search(None).select(...).where(...)`. */
const built = Type.Object({
  source_table: Type.String({ minLength: 1 }),
  base: Type.Object({
    columns: Type.Optional(
      Type.Union([
        Type.Array(Type.String(), { minItems: 1 }),
        // SQL by the names of the columns.
        Type.Record(Type.String(), Type.String(), { minProperties: 1 }),
        Type.Null(),
      ]),
    ),
    filter: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  }),
});

const OF_QUERY: readonly string[] = ["base", "source_table", "source_db_uri"];
const OF_BASE: readonly string[] = Object.keys(built.properties.base.properties);

/** @throws code 13 if the text is JSON of another form, or has what the query of a view cannot have */
export function sqlOf(source: string): string {
  if (!source.trimStart().startsWith("{")) return source;
  let value: object;
  try {
    value = JSON.parse(source);
  } catch {
    throw invalidInput("source_query starts with { but is not valid JSON");
  }
  if ("base" in value) return sqlOfBuilt(value);
  if (Value.Check(definition, value)) return value.query;
  if ("kind" in value && value.kind !== "query") {
    throw invalidInput("source_query has a kind other than query");
  }
  throw invalidInput('source_query has no SELECT in "query"');
}

function sqlOfBuilt(query: object): string {
  if (!Value.Check(built, query)) {
    throw invalidInput(
      "source_query is no query over a table: it needs the name of the table in source_table, and in base a list of columns and a filter in SQL, or neither",
    );
  }
  const [other] = [...others(query, OF_QUERY), ...others(query.base, OF_BASE)];
  if (other !== undefined) {
    throw invalidInput(
      `source_query has ${other}, and the query of a view has only the columns and the filter of one table`,
    );
  }
  const { columns, filter } = query.base;
  const where = filter == null ? "" : ` WHERE ${filter}`;
  return `SELECT ${selected(columns)} FROM ${quoted(query.source_table)}${where}`;
}

/** The members that are set and are not among the known ones. */
const others = (value: object, known: readonly string[]): string[] =>
  Object.entries(value)
    .filter(([name, set]) => !known.includes(name) && set !== null && set !== false)
    .map(([name]) => name);

function selected(columns: Static<typeof built>["base"]["columns"]): string {
  if (columns == null) return "*";
  if (Array.isArray(columns)) return columns.map(quoted).join(", ");
  return Object.entries(columns)
    .map(([name, sql]) => `${sql} AS ${quoted(name)}`)
    .join(", ");
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
