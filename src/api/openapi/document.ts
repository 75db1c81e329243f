import type { TSchema } from "@sinclair/typebox";
import { ErrorCode } from "../../foundation/errors.js";
import type { Operation } from "../operation.js";
import { withCommonMembers } from "../validation/common-members.js";
import { withComponents } from "./components.js";

const ARROW_STREAM = "application/vnd.apache.arrow.stream";
const ARROW_FILE = "application/vnd.apache.arrow.file";

const binary = { schema: { type: "string", format: "binary" } };

const sqlRows = {
  type: "object",
  required: ["columns", "rows"],
  properties: {
    columns: {
      type: "array",
      items: {
        type: "object",
        required: ["name", "type"],
        properties: { name: { type: "string" }, type: { type: "string" } },
      },
    },
    rows: {
      type: "array",
      items: { type: "object" },
      description: "at most 10,000 rows and 4 MiB",
    },
  },
};

const problem = {
  type: "object",
  required: ["type", "title", "status", "detail", "instance", "error", "code"],
  properties: {
    type: { type: "string" },
    title: { type: "string" },
    status: { type: "integer" },
    detail: { type: "string", description: "what was wrong and what would be right" },
    instance: { type: "string", description: "path of the request" },
    error: { type: "string", description: "same as detail" },
    code: {
      type: "integer",
      description: Object.entries(ErrorCode)
        .map(([name, code]) => `${code} ${name}`)
        .join(", "),
    },
    limit: { type: "string", description: "of 429: the limit that refuses the request" },
  },
};

const requestTimeout = {
  name: "x-request-timeout-ms",
  in: "header",
  required: false,
  schema: { type: "integer", minimum: 1 },
  description: "time until the reply must begin; beyond it the reply is 504",
};

const idempotencyKey = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  schema: { type: "string", minLength: 1, maxLength: 255 },
  description:
    "unique to the request; a request that is sent again within a day takes effect once and gets the first reply, " +
    "with the header idempotent-replayed; the key of another request is refused (422)",
};

/** The OpenAPI 3.1 document of a list of operations. */
export function openApiDocument(operations: readonly Operation[]): object {
  return withComponents({
    openapi: "3.1.0",
    info: { title: "joust", description: "A server for Lance tables", version: "1" },
    security: [{ bearer: [] }, { apiKey: [] }],
    paths: Object.fromEntries(operations.map((operation) => [operation.path, pathItem(operation)])),
    components: {
      schemas: { Problem: problem },
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer" },
        apiKey: { type: "apiKey", in: "header", name: "x-api-key" },
      },
    },
  });
}

function pathItem(operation: Operation): object {
  return Object.fromEntries(
    operation.methods.map((method) => [method.toLowerCase(), describe(operation, method)]),
  );
}

function describe(operation: Operation, method: "GET" | "POST"): object {
  const body = method === "GET" ? undefined : requestBody(operation);
  // Ids are unique in a document: the id of a second method has the method as its suffix.
  const alternative = operation.methods[0] !== method;
  return {
    operationId: alternative ? `${operation.id}By${method}` : operation.id,
    summary: operation.summary,
    description: requiredRole(operation),
    tags: [operation.tag],
    parameters: [
      ...pathParameters(operation),
      ...queryParameters(operation),
      requestTimeout,
      ...(operation.permission === "read" ? [] : [idempotencyKey]),
    ],
    ...(body && { requestBody: body }),
    responses: {
      [operation.status ?? 200]: success(operation),
      default: {
        description: "failure",
        content: { "application/json": { schema: { $ref: "#/components/schemas/Problem" } } },
      },
    },
  };
}

/** The role or the privileges that a caller needs, as a sentence. */
function requiredRole({ permission, administrative, access }: Operation): string {
  const role = `Needs a key with the role \`${permission}\``;
  const sentence = administrative ? `${role}, and \`admin\` to ${administrative.to}.` : `${role}.`;
  const names = (list: readonly string[]) => list.map((name) => `\`${name}\``).join(", ");
  const always = access.privileges.length > 0 ? [names(access.privileges)] : [];
  const sometimes = access.sometimes?.length
    ? [`for some requests ${names(access.sometimes)}`]
    : [];
  const privileges = [...always, ...sometimes].join(", and ");
  return privileges === "" ? sentence : `${sentence} Or these privileges: ${privileges}.`;
}

function pathParameters(operation: Operation): object[] {
  const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
  return names.map((name) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
    ...(name === "id" && {
      description: "components, joined by the delimiter; the delimiter alone is the root namespace",
    }),
  }));
}

function queryParameters(operation: Operation): object[] {
  const members: Record<string, TSchema> = { ...operation.params.properties };
  if (operation.path.includes("{id}")) {
    members.delimiter ??= { type: "string", default: "$" } as unknown as TSchema;
  }
  const required: readonly string[] = operation.params.required ?? [];
  return Object.entries(members).map(([name, schema]) => ({
    name,
    in: "query",
    required: required.includes(name),
    schema,
  }));
}

function requestBody({ body }: Operation): object | undefined {
  switch (body.kind) {
    case "none":
      return undefined;
    case "arrow":
      return { required: true, content: { [ARROW_STREAM]: binary } };
    case "json":
    case "raw-json": {
      const { schema } = body;
      return {
        required: schema.required !== undefined,
        content: {
          "application/json": { schema: withCommonMembers(schema) },
          ...(body.kind === "json" && body.orArrow && { [ARROW_STREAM]: binary }),
        },
      };
    }
  }
}

function success({ reply, id }: Operation): object {
  if (id === "QueryTable") {
    const content = { [ARROW_FILE]: binary, [ARROW_STREAM]: binary };
    return { description: "rows as an Arrow IPC file, or as a stream if Accept names it", content };
  }
  if (id === "ReadTableChanges") {
    const content = { [ARROW_STREAM]: binary, [ARROW_FILE]: binary };
    return { description: "rows as an Arrow IPC stream, or as a file if Accept names it", content };
  }
  if (id === "ExecuteSql") {
    const content = {
      [ARROW_STREAM]: binary,
      [ARROW_FILE]: binary,
      "application/json": { schema: sqlRows },
      "application/x-ndjson": { schema: { type: "string" } },
      "text/csv": { schema: { type: "string" } },
      "application/vnd.apache.parquet": binary,
    };
    return { description: "rows, in the first type of Accept that is one of these", content };
  }
  if (reply === undefined) return { description: "success" };
  return { description: "success", content: { "application/json": { schema: reply } } };
}
