/**
 * npm runs this before it packs or publishes: it compiles the current sources and copies the page at /docs.
 */
import { buildTypescript } from "./build/typescript.mjs";

buildTypescript();
