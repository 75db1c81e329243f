import { createRequire } from "node:module";

/** `require` for ES modules. It resolves modules from the installation directory of joust. */
export const requireModule: NodeJS.Require = createRequire(import.meta.url);
