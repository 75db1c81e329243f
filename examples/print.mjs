/** Prints the answer of a query, an Arrow IPC file: `node examples/print.mjs answer.arrow`. */
import { readFileSync } from "node:fs";
import { tableFromIPC } from "apache-arrow";

const answer = tableFromIPC(readFileSync(process.argv[2]));
console.table(answer.toArray().map((row) => row.toJSON()));
