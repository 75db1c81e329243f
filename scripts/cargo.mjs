/** `npm run cargo -- ARGS`: runs cargo with the target directory and the protoc of all builds. */
import { cargo } from "./build/cargo.mjs";

process.exitCode = await cargo(process.argv.slice(2));
