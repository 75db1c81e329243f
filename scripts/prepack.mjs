/**
 * What npm runs before it packs or publishes: the package holds the sources compiled as they are now, and the
 * page at /docs, which is copied beside them.
 */
import { buildTypescript } from "./build/typescript.mjs";

buildTypescript();
