import { threadId } from "node:worker_threads";

/** Tells queries that run at the same time from one another, those of other threads too. */
let next = threadId * 2 ** 40;

/** A number that no other query of this process has. */
export const queryNumber = (): number => next++;
