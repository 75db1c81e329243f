/** The generator: a seed and an index make one request. */
import { items } from "../harness/arrow.js";
import { ARROW_STREAM, type Json } from "../harness/client.js";
import type { Draw } from "./draw.js";
import { brokenFraming } from "./framing.js";
import {
  hostileComponent,
  hostileHeaders,
  hostileParams,
  percentEncoded,
} from "./hostile-headers.js";
import { type Known, objectOf } from "./known.js";
import { type Place, places } from "./places.js";
import { hostileQuery } from "./queries.js";
import { membersOf, validBody, validParams } from "./valid-requests.js";
import { anyName, anyText, encodeJson, mutate, statements, wrongValue } from "./values.js";

/** The share of each kind of request. */
const kinds = {
  valid: 12,
  "mutated body": 38,
  "malformed body": 8,
  "damaged rows": 8,
  headers: 8,
  path: 8,
  parameters: 7,
  sql: 5,
  query: 7,
  framing: 3,
  "early close": 1.5,
  pipelined: 1,
};
export type Kind = keyof typeof kinds;

export interface HostileRequest {
  readonly kind: Kind;
  readonly place: Place;
  readonly bytes: Buffer;
  /**
   * What the connection is for: `shared` requests are well-formed and get one reply each. The other ones have a
   * connection of their own, which the client closes at once (`cut`) or when the server sends nothing more (`own`).
   */
  readonly connection: "shared" | "own" | "cut";
  /** The request names its own deadline. */
  readonly deadline: boolean;
}

export interface Target {
  /** `127.0.0.1:PORT`. */
  readonly host: string;
  /** The admin key; "" for a server without keys. */
  readonly key: string;
  readonly known: Known;
}

const rows = [items(3), items(20), items(3, { dimension: 7 }), items(0)];

/** Places with a body of rows, and operations with SQL. */
const ofRows = places.filter(({ operation: { body } }) => body.kind === "arrow");
const sqlMembers: Readonly<Record<string, string>> = {
  QueryTable: "filter",
  CountTableRows: "predicate",
  DeleteFromTable: "predicate",
  UpdateTable: "predicate",
  ExecuteSql: "query",
  AnalyzeTableQueryPlan: "filter",
  AlterTableBackfillColumns: "where",
};
const ofSql = places.filter(({ operation, methods }) => {
  return operation.id in sqlMembers && methods.includes("POST");
});
const ofQueries = places.filter(({ operation }) =>
  ["QueryTable", "ExplainTableQueryPlan", "AnalyzeTableQueryPlan"].includes(operation.id),
);
/** Jobs and scans that take long: a valid request of one is sent more rarely. */
const costly =
  /^(Compact|Refresh|Prewarm|CreateTableIndex|CreateTableScalar|AlterTableBackfill|GetMetrics|Analyze)/;

export function hostileRequest(draw: Draw, target: Target): HostileRequest {
  const kind = draw.weighted(kinds);
  const place = placeOf(draw, kind);
  const deadline = (headers: Record<string, string>) => "x-request-timeout-ms" in headers;
  switch (kind) {
    case "framing": {
      const bytes = Buffer.concat(
        brokenFraming(draw, pathOf(draw, place, target), credentials(target)),
      );
      return { kind, place, bytes, connection: "own", deadline: false };
    }
    case "early close": {
      const { bytes } = wellFormed(draw, kind, place, target);
      const length = 1 + draw.below(bytes.length);
      const connection = draw.chance(0.7) ? "cut" : "own";
      return { kind, place, bytes: bytes.subarray(0, length), connection, deadline: false };
    }
    case "pipelined": {
      const several = Array.from({ length: 2 + draw.below(4) }, () =>
        wellFormed(
          draw,
          draw.pick(["valid", "mutated body"] as const),
          placeOf(draw, kind),
          target,
        ),
      );
      const bytes = Buffer.concat(several.map(({ bytes }) => bytes));
      return { kind, place, bytes, connection: "own", deadline: false };
    }
    default: {
      const { bytes, headers } = wellFormed(draw, kind, place, target);
      return { kind, place, bytes, connection: "shared", deadline: deadline(headers) };
    }
  }
}

function placeOf(draw: Draw, kind: Kind): Place {
  if (kind === "damaged rows") return draw.pick(ofRows);
  if (kind === "sql") return draw.pick(ofSql);
  if (kind === "query") return draw.pick(ofQueries);
  const place = draw.pick(places);
  return costly.test(place.operation.id) && draw.chance(0.9) ? draw.pick(places) : place;
}

interface WellFormed {
  readonly bytes: Buffer;
  readonly headers: Record<string, string>;
}

function wellFormed(draw: Draw, kind: Kind, place: Place, target: Target): WellFormed {
  const { operation } = place;
  const hostilePath = kind === "path" || (kind === "mutated body" && draw.chance(0.03));
  const params = Object.entries(validParams(place, target.known)).map(
    ([name, value]) => `${name}=${encodeURIComponent(value)}`,
  );
  if (kind === "parameters") {
    const own = Object.keys(operation.params.properties ?? {});
    params.push(...hostileParams(draw, own, draw.chance(0.5) ? anyName : anyText));
    if (draw.chance(0.2)) params.shift();
  }
  const path = hostilePath ? hostilePathOf(draw, place) : pathOf(draw, place, target);
  const method =
    kind === "path" && draw.chance(0.1) ? draw.pick(["GET", "POST"]) : draw.pick(place.methods);
  const body = method === "GET" ? undefined : bodyOf(draw, kind, place, target.known);
  const headers: Record<string, string> = { host: target.host };
  if (target.key !== "" && !draw.chance(0.01)) headers.authorization = `Bearer ${target.key}`;
  if (body !== undefined) headers["content-type"] = body.type;
  if (kind === "headers" || draw.chance(0.02)) Object.assign(headers, hostileHeaders(draw));
  const url = params.length > 0 ? `${path}?${params.join("&")}` : path;
  return { bytes: encoded(draw, method, url, headers, body?.bytes), headers };
}

function encoded(
  draw: Draw,
  method: string,
  url: string,
  headers: Record<string, string>,
  body: Uint8Array | undefined,
): Buffer {
  const chunked = body !== undefined && draw.chance(0.1);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  if (body !== undefined) {
    lines.push(chunked ? "transfer-encoding: chunked" : `content-length: ${body.byteLength}`);
  }
  const head = Buffer.from(`${method} ${url} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`, "latin1");
  if (body === undefined) return head;
  return Buffer.concat([head, ...(chunked ? inChunks(draw, body) : [body])]);
}

function inChunks(draw: Draw, body: Uint8Array): Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (let start = 0; start < body.length; ) {
    const part = body.subarray(start, start + 1 + draw.below(Math.max(body.length, 1)));
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from("\r\n"));
    start += part.length;
  }
  return [...parts, Buffer.from("0\r\n\r\n")];
}

const indexes = ["id_idx", "vector_idx", "name_idx"];

const credentials = ({ key }: Target): string =>
  key === "" ? "" : `Authorization: Bearer ${key}\r\n`;

function pathOf(draw: Draw, place: Place, { known }: Target): string {
  return place.path
    .replace("{id}", encodeURIComponent(objectOf(place, known)))
    .replace(
      "{index_name}",
      place.operation.id === "DropTableIndex" ? "id_idx" : draw.pick(indexes),
    )
    .replace("{column}", "image")
    .replace("{row_id}", draw.pick(["0", "1"]));
}

function hostilePathOf(draw: Draw, { path }: Place): string {
  const filled = path.replaceAll(/\{\w+\}/g, () =>
    draw.chance(0.7) ? hostileComponent(draw) : percentEncoded(anyName(draw)) || "%20",
  );
  switch (draw.below(12)) {
    case 0:
      return `/${filled}`;
    case 1:
      return filled.replace("/v1/", "/v1/../v1/");
    case 2:
      return `${filled}/${hostileComponent(draw)}`;
    case 3:
      return filled.toUpperCase();
    case 4:
      return `/docs/${hostileComponent(draw)}`;
    default:
      return filled;
  }
}

interface BodyBytes {
  readonly bytes: Uint8Array;
  readonly type: string;
}

const JSON_TYPE = "application/json";

function bodyOf(draw: Draw, kind: Kind, place: Place, known: Known): BodyBytes | undefined {
  const { body, id } = place.operation;
  if (body.kind === "none" && kind !== "malformed body") return undefined;
  if (body.kind === "arrow" || (kind === "damaged rows" && draw.chance(0.9))) {
    const bytes = kind === "malformed body" ? malformed(draw, Buffer.from("{}")) : draw.pick(rows);
    const isDamaged = kind === "damaged rows" || kind === "mutated body";
    return { bytes: isDamaged ? damagedRows(draw) : bytes, type: ARROW_STREAM };
  }
  const valid = validBody(draw, place, known);
  switch (kind) {
    case "mutated body":
      return { bytes: encodeJson(mutate(draw, valid, membersOf(place))), type: JSON_TYPE };
    case "malformed body":
      return { bytes: malformed(draw, encodeJson(valid)), type: JSON_TYPE };
    case "sql":
      return { bytes: encodeJson(withSql(draw, id, valid)), type: JSON_TYPE };
    case "query": {
      const query = hostileQuery(draw);
      const body = id === "ExplainTableQueryPlan" ? { query, verbose: draw.chance(0.5) } : query;
      return { bytes: encodeJson(body), type: JSON_TYPE };
    }
    default:
      return { bytes: encodeJson(valid), type: JSON_TYPE };
  }
}

function withSql(draw: Draw, id: string, valid: Json): Json {
  const member = sqlMembers[id] as string;
  const query = id === "ExecuteSql";
  const text = query ? draw.pick(statements) : anyText(draw);
  const body = { ...valid, [member]: text };
  if (query && draw.chance(0.2)) body.parameters = [wrongValue(draw)];
  if (id === "UpdateTable" && draw.chance(0.5)) body.updates = [["price", anyText(draw)]];
  return body;
}

const noJson: readonly Buffer[] = [
  Buffer.alloc(0),
  Buffer.from("nul"),
  Buffer.from("[]"),
  Buffer.from("7"),
  Buffer.from('"'),
  Buffer.from('{"a":1,}'),
  Buffer.from("{'a':1}"),
  Buffer.from('{"a":1}{"a":1}'),
  Buffer.from("\ufeff{}"),
  Buffer.from('{"k":1,"vector":{"single_vector":[0.1,'),
  Buffer.from("[".repeat(100_000)),
  Buffer.from('{"a":'.repeat(50_000)),
  Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
  Buffer.from([0xed, 0xa0, 0x80]),
  Buffer.from("{}", "utf16le"),
  Buffer.from([0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0]),
];

/** Bytes that are usually no JSON: the valid ones with flipped bytes or without their end, or others. */
function malformed(draw: Draw, valid: Uint8Array): Uint8Array {
  return draw.chance(0.5) ? draw.pick(noJson) : damaged(draw, valid);
}

function damaged(draw: Draw, valid: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(valid);
  if (copy.length === 0) return copy;
  for (let flips = draw.below(5); flips > 0; flips--) {
    const at = draw.below(copy.length);
    copy[at] = draw.chance(0.5) ? (copy[at] as number) ^ (1 << draw.below(8)) : draw.below(256);
  }
  return draw.chance(0.4) ? copy.subarray(0, draw.below(copy.length + 1)) : copy;
}

function damagedRows(draw: Draw): Uint8Array {
  const valid = draw.pick(rows);
  switch (draw.below(8)) {
    case 0:
      return draw.bytes(draw.below(200));
    case 1:
      return Buffer.concat([valid, valid]);
    case 2: {
      // The length of a message.
      const copy = Buffer.from(valid);
      copy.writeUInt32LE(draw.pick([0, 1, 0x7fffffff, 0xffffffff, 0x80000000]), 4);
      return copy;
    }
    default:
      return damaged(draw, valid);
  }
}
