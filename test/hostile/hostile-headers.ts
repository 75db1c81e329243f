/** Header values and path texts that are well-formed HTTP and hostile to the server. */
import type { Draw } from "./draw.js";
import { ESCAPE } from "./values.js";

const LONG = "x".repeat(3_000);

const headers: Readonly<Record<string, readonly string[]>> = {
  "idempotency-key": ["", " ", "k1", "k2", "x".repeat(255), "x".repeat(256), "\u00e9", "a,b", "\t"],
  "x-request-timeout-ms": [
    "1",
    "2",
    "0",
    "-1",
    "NaN",
    "1e3",
    "2147483648",
    "9".repeat(40),
    "5s",
    "",
  ],
  traceparent: [
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    `00-${"0".repeat(32)}-${"0".repeat(16)}-00`,
    "ff-zz-zz-zz",
    LONG,
    "",
  ],
  tracestate: ["a=b", LONG, "=,=,="],
  authorization: [
    "",
    "Bearer",
    "Bearer ",
    "Basic eDp5",
    "bearer x",
    "Bearer joust_x",
    "Bearer e30.e30.",
    LONG,
  ],
  "x-api-key": ["", "joust_", `joust_${"A".repeat(43)}`, LONG, "\u00ff"],
  "x-lancedb-database": [
    "h",
    "h$items",
    "",
    "..",
    "/",
    `../${ESCAPE}`,
    "%2e%2e",
    "$",
    "x".repeat(300),
    "\u00ff",
  ],
  "x-lancedb-database-prefix": ["h", "..", LONG],
  "x-lancedb-min-version": ["1", "0", "-1", "99999999999999999999", "x"],
  "x-lancedb-min-timestamp": ["1970-01-01T00:00:00Z", "+275760-09-13T00:00:00Z", "x", ""],
  range: [
    "bytes=0-1",
    "bytes=-1",
    "bytes=9-1",
    "bytes=0-",
    "bytes=0-99999999999999999999",
    "bytes=0-1,3-4",
    "rows=1-2",
    "bytes=",
  ],
  "if-range": ['"x"', "x"],
  accept: [
    "application/vnd.apache.arrow.stream",
    "text/csv",
    "application/json",
    "*/*;q=NaN",
    LONG,
    "",
    "application/x-ndjson",
    "application/vnd.apache.parquet",
  ],
  "accept-encoding": ["gzip", "br;q=1e999", "identity;q=0, *;q=0"],
  "content-type": [
    "",
    "text/plain",
    "application/json; charset=utf-7",
    "application/vnd.apache.arrow.stream",
    "application/json, text/html",
    "multipart/form-data; boundary=x",
    LONG,
    "/",
  ],
  "content-encoding": ["gzip", "br", "identity", "gzip, gzip", "x"],
  "x-ns-ctx-a": ["", "b", LONG, "\u00ff"],
  "x-ns-ctx-constructor": ["x"],
  "x-lance-table-properties": [
    '{"a":"b"}',
    '{"a":{}}',
    "[".repeat(3_000),
    "{",
    "null",
    '{"__proto__":"x"}',
  ],
  "x-lance-table-location": [`../${ESCAPE}`, `/tmp/${ESCAPE}`],
  prefer: ["respond-async", "wait=0", "wait=99999999999", "return=minimal, wait", ";"],
  origin: ["null", "http://other.example", "x"],
  host: ["other.example", "127.0.0.1:1", "[::1]:80"],
  cookie: [LONG, "a=b"],
  "x-forwarded-for": ["127.0.0.1", "x, y", LONG],
  "x-request-id": [LONG, "\u00ff", "a b"],
  "x-http-method-override": ["DELETE"],
};

/** One or two hostile headers. */
export function hostileHeaders(draw: Draw): Record<string, string> {
  const chosen: Record<string, string> = {};
  for (let count = 1 + draw.below(2); count > 0; count--) {
    const name = draw.pick(Object.keys(headers));
    chosen[name] = draw.pick(headers[name] as readonly string[]);
  }
  return chosen;
}

/** Path components as they are sent. */
const components: readonly string[] = [
  "%2e%2e%2f%2e%2e%2f",
  `..%2f..%2f${ESCAPE}`,
  `%2e%2e%5c${ESCAPE}`,
  `%252e%252e%252f${ESCAPE}`,
  `%c0%ae%c0%ae%c0%af${ESCAPE}`,
  `%u002e%u002e/${ESCAPE}`,
  `h%24..%2f${ESCAPE}`,
  `h%24%2ftmp%2f${ESCAPE}`,
  "..",
  ".",
  "...",
  "%00",
  `h%24a%00b`,
  "%0d%0aX-Injected:%201",
  "%",
  "%zz",
  "%F0%9F",
  "%ff%fe",
  "%ED%A0%80",
  "$",
  "%24%24",
  "h%24%24items",
  "h%24",
  "%24h",
  "h%24items%24x",
  "h$missing",
  "h.items",
  "H%24ITEMS",
  "h%24items%20",
  "h%24items/",
  "h%24items;x=y",
  "h%24items%3fx",
  "__proto__",
  "constructor",
  ".joust",
  "_versions",
  `h%24${"x".repeat(255)}`,
  "x".repeat(2_000),
  `h%24${"%F0%9F%98%80".repeat(64)}`,
  "a$".repeat(500),
];

export const hostileComponent = (draw: Draw): string => draw.pick(components);

const delimiters = ["", "$", ".", "%2f", "/", "$$", "%00", "x".repeat(100), "%F0%9F%98%80"];

/** Query parameters as they are sent: one of the operation's own, or another one. */
export function hostileParams(
  draw: Draw,
  names: readonly string[],
  text: (draw: Draw) => string,
): string[] {
  const known = [...names, "delimiter", "limit", "page_token", "mode", "upload_id", "branch"];
  return Array.from({ length: 1 + draw.below(3) }, () => {
    const name = draw.pick(known);
    if (name === "delimiter") return `delimiter=${draw.pick(delimiters)}`;
    const value = draw.pick([
      () => percentEncoded(text(draw)),
      () =>
        draw.pick(["", "-1", "0", "1e400", "NaN", "[]", "%", "%00", "%ff", "true", "9".repeat(30)]),
      () => `1&${name}=2`,
    ])();
    return draw.chance(0.05) ? `${name}[]=${value}` : `${name}=${value}`;
  });
}

/** `encodeURIComponent`, which does not accept lone surrogates, of a text that is not too long for a head. */
export const percentEncoded = (text: string): string =>
  encodeURIComponent(text.slice(0, 800).toWellFormed());
