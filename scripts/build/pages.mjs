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
 * Puts the page at /docs together: its own files and those of Swagger UI. They are copied, so that
 * who installs joust does not install Swagger UI's package, whose set-up calls a counting service.
 */
export function copyPages(dist) {
  const own = join(root, "src", "api", "openapi", "docs");
  copy(own, readdirSync(own), join(dist, "api", "openapi", "docs"));
  const swaggerUi = join(root, "node_modules", "swagger-ui-dist");
  copy(swaggerUi, SWAGGER_UI, join(dist, "api", "openapi", "docs", "swagger-ui"));
}

function copy(from, names, to) {
  mkdirSync(to, { recursive: true });
  for (const name of names) copyFileSync(join(from, name), join(to, name));
}
