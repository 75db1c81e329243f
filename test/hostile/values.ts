/** Hostile values: texts, names, numbers, nesting, and one wrong place in a valid value. */
import type { Json } from "../harness/client.js";
import { containers } from "../harness/mutated-values.js";
import type { Draw } from "./draw.js";

/** Part of every name that points out of the root: a file with it outside of the root is a failure. */
export const ESCAPE = "joust-escaped";

export const sqlTexts: readonly string[] = [
  "'; DROP TABLE t; --",
  "1 = 1 OR 1 = 1",
  "id = 1; SELECT 1",
  "id = (SELECT max(id) FROM h.items)",
  "(((((((((((((((((((((((((((((((((((((((id",
  `${"(".repeat(2_000)}1${")".repeat(2_000)}`,
  `${"NOT ".repeat(3_000)}true`,
  Array.from({ length: 2_000 }, (_, at) => `id = ${at}`).join(" OR "),
  "id = 9223372036854775808",
  "id = -9223372036854775809",
  "id / 0 = 1",
  "id % 0 = 1",
  "9223372036854775807 + id > 0",
  "-(-9223372036854775808) = id",
  "price = CAST('NaN' AS DOUBLE)",
  "price < 1e400",
  "name LIKE '%%%%%%%%%%%%%%%%%%%%%%%%%%%%x'",
  "regexp_match(name, '(a+)+$') IS NOT NULL",
  "name ~ '((((((((((a{1,99}){1,99}){1,99}'",
  "repeat(name, 1000000000) = ''",
  "lpad(name, 2147483647) = ''",
  "substr(name, -9223372036854775808) = ''",
  "split_part(name, '', 0) = ''",
  "to_timestamp(id * 1000000000000) IS NULL",
  "CAST(name AS INT) = 1",
  "CAST(id AS TINYINT) = 1",
  "CAST(id AS DECIMAL(38, 38)) = 1",
  "date_trunc('century', CAST(id AS TIMESTAMP)) IS NULL",
  "array_length(vector) = 8",
  "vector = 1",
  "vector[999999999] = 1",
  "category IN ()",
  "id IN (NULL, NULL)",
  "id BETWEEN 5 AND 1",
  "CASE WHEN true THEN id END = 1",
  "CASE END",
  '"id" = 1',
  "`id` = 1",
  "[id] = 1",
  "missing = 1",
  "id = $1",
  "id = ?",
  "id = @x",
  "_rowid = 18446744073709551615",
  "_distance < 0",
  "x'00' = name",
  "E'\\u0000' = name",
  "/* */ id = 1 --",
  "/* id = 1",
  "id = 1 \u0000",
  "current_user = 'x'",
  "version() = 'x'",
  "pg_sleep(60) IS NULL",
  "read_parquet('/etc/passwd') IS NULL",
  "sum(id) > 1",
  "row_number() OVER () > 1",
  "INTERVAL '999999999999 years' > id",
  "DATE '99999-99-99' = id",
  "TIMESTAMP '0000-00-00 00:00:00' = id",
  "\u{1F4A9} = 1",
  "",
  " ",
];

export const statements: readonly string[] = [
  "SELECT * FROM h.items",
  "SELECT id FROM h.items WHERE id < 3 ORDER BY price LIMIT 2",
  "SELECT count(*), category FROM h.items GROUP BY category",
  "SELECT a.id FROM h.items a JOIN h.items b ON a.id = b.id",
  "SELECT * FROM h.items a, h.items b",
  "SELECT count(*) FROM h.items a, h.items b, h.items c WHERE a.price < b.price + c.price",
  "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT * FROM r LIMIT 10",
  "SELECT * FROM generate_series(1, 1000000000000)",
  "SELECT 1/0",
  "SELECT 9223372036854775807 + 1",
  "SELECT sum(9223372036854775807) FROM h.items",
  "SELECT avg(id) OVER (ORDER BY id ROWS BETWEEN 9223372036854775807 PRECEDING AND CURRENT ROW) FROM h.items",
  "SELECT * FROM information_schema.tables",
  "SELECT * FROM pg_catalog.pg_tables",
  "SELECT * FROM '/etc/passwd'",
  "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '/etc/passwd'",
  `COPY h.items TO '/tmp/${ESCAPE}.csv'`,
  "SET datafusion.execution.batch_size = 0",
  "EXPLAIN ANALYZE SELECT * FROM h.items",
  "INSERT INTO h.ExecuteSql SELECT * FROM h.items LIMIT 1",
  "UPDATE h.ExecuteSql SET price = price + 1 WHERE id = 1",
  "DELETE FROM h.ExecuteSql WHERE id > 100",
  "DROP TABLE h.missing",
  "SELECT '\u0000'",
  "SELECT * FROM h.items WHERE",
  "SELECT $1",
  ";",
  "",
  `SELECT ${Array.from({ length: 500 }, (_, at) => `id + ${at}`).join(", ")} FROM h.items`,
  `SELECT * FROM ${"(SELECT * FROM ".repeat(60)}h.items${")".repeat(60)}`,
];

export const paths: readonly string[] = [
  `../${ESCAPE}`,
  `../../../../../../../../tmp/${ESCAPE}`,
  `/tmp/${ESCAPE}`,
  `file:///tmp/${ESCAPE}`,
  `a/../../${ESCAPE}`,
  `..\\..\\${ESCAPE}`,
  "/etc/passwd",
  "file:///etc",
  "/proc/self/environ",
  "s3://bucket/key",
  "http://127.0.0.1:1/x",
  "memory://x",
  "..",
  ".",
  "/",
  ".joust",
  ".joust/catalog.db",
  `x\u0000/../${ESCAPE}`,
];

const names: readonly string[] = [
  "",
  " ",
  "$",
  "$$",
  "a$b",
  "__proto__",
  "constructor",
  "toString",
  "\u0000",
  "a\u0000b",
  "\n",
  "\r\nX-Injected: 1",
  "\u202e\u0661",
  "\ufeff",
  "\ud800",
  "\udfff\ud800",
  "e\u0301",
  "\u{1F469}\u200D\u{1F680}",
  "CON",
  "x".repeat(255),
  "x".repeat(256),
  "\u{1F600}".repeat(64),
  "x".repeat(5_000),
  "%s%n%x",
  "%{jndi:ldap://x}",
  "{{7*7}}",
  "<script>",
  "id_idx",
  "items",
  "dev",
  "main",
  "first",
];

const numbers: readonly unknown[] = [
  0,
  -0,
  -1,
  1,
  1.5,
  -1e300,
  1e300,
  5e-324,
  2 ** 31 - 1,
  2 ** 31,
  -(2 ** 31),
  2 ** 32,
  2 ** 53,
  -(2 ** 53),
  2 ** 63,
  2 ** 64,
  2 ** 64 - 1,
  Number.MAX_VALUE,
  "NaN",
  "Infinity",
  "-Infinity",
  "1",
  "0x10",
  "1e400",
];

const shapes: readonly unknown[] = [
  null,
  true,
  false,
  [],
  {},
  [[]],
  [null],
  [{}],
  [1, "a", null],
  { x: {} },
  { a: { b: [] } },
  Array(300).fill(0),
  Array(3).fill("NaN"),
];

export const vectors: readonly unknown[] = [
  [],
  Array(7).fill(0),
  Array(9).fill(0),
  Array(8).fill(1e300),
  Array(8).fill(1e-45),
  Array(8).fill(3.4e38),
  Array(8).fill(null),
  Array(8).fill("NaN"),
  Array(70_000).fill(0),
  [Array(8).fill(0), Array(7).fill(0)],
  [[]],
  { single_vector: Array(7).fill(0) },
  { multi_vector: [] },
  { multi_vector: [Array(8).fill(0), []] },
  { single_vector: null, multi_vector: null },
];

/** Placeholders that {@link encodeJson} replaces, because `JSON.stringify` cannot write such values. */
const raw: Readonly<Record<string, string>> = {
  "@NAN@": "NaN",
  "@HUGE@": `1${"0".repeat(400)}`,
  "@EXPONENT@": "1e999999",
  "@MINUS@": "-",
  "@DEEP_ARRAY@": `${"[".repeat(20_000)}1${"]".repeat(20_000)}`,
  "@DEEP_OBJECT@": `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`,
  "@OPEN@": "[".repeat(50_000),
  "@LONE@": '"\\ud800"',
  "@BAD_ESCAPE@": '"\\x"',
  "@TWICE@": '{"k":1,"k":2,"k":3}',
};

export const anyText = (draw: Draw): string =>
  draw.pick(draw.pick([sqlTexts, names, paths, statements]));

export const anyName = (draw: Draw): string => draw.pick(draw.pick([names, paths]));

export function wrongValue(draw: Draw): unknown {
  switch (draw.weighted({ number: 4, text: 5, shape: 4, vector: 1, raw: 1, nested: 1 })) {
    case "number":
      return draw.pick(numbers);
    case "text":
      return anyText(draw);
    case "shape":
      return structuredClone(draw.pick(shapes));
    case "vector":
      return structuredClone(draw.pick(vectors));
    case "raw":
      return draw.pick(Object.keys(raw));
    default:
      return nested(draw.pick([20, 100, 127, 128, 500]));
  }
}

const nested = (depth: number): unknown =>
  Array.from({ length: depth }).reduce(
    (value: unknown, _, at) => (at % 2 ? [value] : { and: value }),
    1,
  );

/** The value with some members replaced, removed, renamed, repeated or added. */
export function mutate(draw: Draw, valid: Json, members: readonly string[]): Json {
  const copy = structuredClone(valid);
  for (let changes = 1 + draw.below(2); changes > 0; changes--) change(draw, copy, members);
  return copy;
}

function change(draw: Draw, value: Json, members: readonly string[]): void {
  const container = draw.pick(containers(value)) as Json;
  const keys = Object.keys(container);
  const key = keys[draw.below(Math.max(keys.length, 1))];
  const how = draw.weighted({ replace: 5, add: 3, remove: 1, rename: 1 });
  if (how === "add" || key === undefined) {
    if (Array.isArray(container)) container.push(wrongValue(draw));
    else define(container, newMember(draw, members), wrongValue(draw));
  } else if (how === "replace") define(container, key, wrongValue(draw));
  else if (Array.isArray(container)) {
    if (how === "remove") container.splice(Number(key), 1);
    else container.push(...Array(50).fill(container[Number(key)]));
  } else {
    const old = container[key];
    delete container[key];
    if (how === "rename") define(container, newMember(draw, members), old);
  }
}

const newMember = (draw: Draw, members: readonly string[]): string =>
  draw.chance(0.8) && members.length > 0 ? draw.pick(members) : anyName(draw);

/** Also a member with the name `__proto__`. */
function define(container: Json, key: string, value: unknown): void {
  Object.defineProperty(container, key, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

export function encodeJson(value: unknown): Buffer {
  const text = JSON.stringify(value).replace(/"(@[A-Z_]+@)"/g, (all, name) => raw[name] ?? all);
  return Buffer.from(text);
}
