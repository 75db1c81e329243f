import { copyFileSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "./paths.mjs";

const SWAGGER_UI = [
  "LICENSE",
  "NOTICE",
  "swagger-ui-bundle.js",
  "swagger-ui-bundle.js.LICENSE.txt",
  "swagger-ui.css",
];

/**
 * Writes the page at /docs to `dist`: files of joust and files of Swagger UI. Swagger UI is not a dependency of
 * joust, because the install script of its package sends usage statistics.
 */
export function copyDocsPage(dist) {
  const page = join(root, "src", "api", "openapi", "docs");
  copy(page, readdirSync(page), join(dist, "api", "openapi", "docs"));
  const swaggerUi = join(root, "node_modules", "swagger-ui-dist");
  copy(swaggerUi, SWAGGER_UI, join(dist, "api", "openapi", "docs", "swagger-ui"));
}

function copy(from, names, to) {
  mkdirSync(to, { recursive: true });
  for (const name of names) copyFileSync(join(from, name), join(to, name));
}
