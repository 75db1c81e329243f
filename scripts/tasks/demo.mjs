import { joust } from "./joust.mjs";

/** `npm run demo -- ARGS` is `joust demo ARGS`. */
export const run = (args) => joust(["demo", ...args]);
