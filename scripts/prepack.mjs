/**
 * npm runs this before it packs or publishes: it compiles and bundles the current sources and copies the page at /docs.
 */
import { buildTypescript } from "./build/typescript.mjs";

await buildTypescript();
