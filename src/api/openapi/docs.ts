import { readFileSync } from "node:fs";
import type { Reply } from "../operation.js";

/** The page at /docs, made readable by Swagger UI, which is served from here as well. */
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

const read = new Map<string, Uint8Array>();

/** What is served at a path of the page, undefined for any other path. Read when first asked for. */
export function docsPage(path: string): Reply | undefined {
  if (path === "/docs/") return { kind: "empty", status: 308, headers: { location: "../docs" } };
  if (!Object.hasOwn(files, path)) return undefined;
  const [file, contentType] = files[path] as readonly [string, string];
  let bytes = read.get(file);
  if (bytes === undefined) {
    bytes = readFileSync(new URL(`docs/${file}`, import.meta.url));
    read.set(file, bytes);
  }
  return { kind: "bytes", contentType, bytes, headers };
}
