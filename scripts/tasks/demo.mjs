import { joust } from "./joust.mjs";

/** `npm run demo -- ARGS`: runs `joust demo ARGS`. */
export const run = (args) => joust(["demo", ...args]);
