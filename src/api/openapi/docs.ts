import { readFileSync } from "node:fs";
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
  "content-security-policy":
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
};

const cache = new Map<string, Uint8Array>();

/** The reply at a path of the page; undefined for any other path. The first request reads the file. */
export function docsPage(path: string): Reply | undefined {
  if (path === "/docs/") return { kind: "empty", status: 308, headers: { location: "../docs" } };
  if (!Object.hasOwn(files, path)) return undefined;
  const [file, contentType] = files[path] as readonly [string, string];
  let bytes = cache.get(file);
  if (bytes === undefined) {
    bytes = readFileSync(new URL(`docs/${file}`, import.meta.url));
    cache.set(file, bytes);
  }
  return { kind: "bytes", contentType, bytes, headers };
}
