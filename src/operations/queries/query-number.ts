import { threadId } from "node:worker_threads";

/** Each thread has its own range. */
let next = threadId * 2 ** 40;

/** A number that identifies a query in this process. */
export const nextQueryNumber = (): number => next++;
