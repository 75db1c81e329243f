import { killedJobs, rayJobs } from "./clients/python.mjs";
import { reportCounts } from "./counts.mjs";

/**
 * `npm run test:compute -- [RUNS]`: kills the server, or the process of a function, during each kind of job, 50 times by
 * default. Then runs jobs on a Ray cluster of one node, and kills a worker, the server or the head as often.
 */
export const run = async ([runs = "50"]) =>
  reportCounts({ ...(await killedJobs(runs)), ...(await rayJobs(runs)) });
