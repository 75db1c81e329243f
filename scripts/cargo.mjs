/** `npm run cargo -- ARGS`: cargo with the target directory and the protoc of every other build. */
import { cargo } from "./build/cargo.mjs";

process.exitCode = await cargo(process.argv.slice(2));
