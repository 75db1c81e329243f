import { accessTo } from "../../api/access.js";
import { openApiDocument } from "../../api/openapi/document.js";
import { type Operation, operation } from "../../api/operation.js";
import { nothing } from "../../api/schemas.js";

/** The operation that returns the OpenAPI document of `operations`. The first request makes the document. */
export function getOpenApiDocument(operations: readonly Operation[]): Operation {
  let text: string | undefined;
  return operation({
    id: "GetOpenApiDocument",
    methods: ["GET"],
    path: "/openapi.json",
    summary: "Get the OpenAPI 3.1 document of this server",
    tag: "Server",
    params: nothing,
    body: { kind: "none" },
    access: accessTo("nothing"),
    uses: [],
    handle: () => {
      text ??= JSON.stringify(openApiDocument(operations));
      return { kind: "encoded", text };
    },
  });
}
