import { joust } from "./joust.mjs";

/** `npm start -- ARGS` is `joust serve ARGS`. */
export const run = (args) => joust(["serve", ...args]);
