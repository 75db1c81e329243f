import { readFileSync } from "node:fs";
import { packageFile } from "../../foundation/package-files.js";
import type { Reply } from "../operation.js";

/** The files of the page at /docs, which shows the OpenAPI document with Swagger UI. */
const files: Readonly<Record<string, readonly [file: string, type: string]>> = {
  "/docs": ["index.html", "text/html; charset=utf-8"],
  "/docs/page.css": ["page.css", "text/css; charset=utf-8"],
  "/docs/page.js": ["page.js", "text/javascript; charset=utf-8"],
  "/docs/swagger-ui.css": ["swagger-ui/swagger-ui.css", "text/css; charset=utf-8"],
  "/docs/swagger-ui-bundle.js": [
    "swagger-ui/swagger-ui-bundle.js",
    "text/javascript; charset=utf-8",
  ],
};

const headers = {
  "cache-control": "no-cache",
  // Swagger UI sets styles in attributes and shows images of its style sheet. No script runs but those of the page.
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "x-frame-options": "DENY",
};

const cache = new Map<string, Uint8Array>();

/** The reply at a path of the page; undefined for any other path. The first request reads the file. */
export function docsPage(path: string): Reply | undefined {
  if (path === "/docs/") return { kind: "empty", status: 308, headers: { location: "../docs" } };
  if (!Object.hasOwn(files, path)) return undefined;
  const [file, contentType] = files[path] as readonly [string, string];
  let bytes = cache.get(file);
  if (bytes === undefined) {
    bytes = readFileSync(packageFile(`dist/api/openapi/docs/${file}`));
    cache.set(file, bytes);
  }
  return { kind: "bytes", contentType, bytes, headers };
}
