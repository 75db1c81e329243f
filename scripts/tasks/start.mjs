import { joust } from "./joust.mjs";

/** `npm start -- ARGS`: runs `joust serve ARGS`. */
export const run = (args) => joust(["serve", ...args]);
