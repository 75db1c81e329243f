import { totalmem } from "node:os";

/** Bytes of memory that this process may use: the machine's, or its cgroup's when that is less. */
export function machineMemory(): number {
  const total = totalmem();
  // Without a limit it is 0, or a number larger than any machine.
  const limit = process.constrainedMemory();
  return limit > 0 && limit < total ? limit : total;
}
