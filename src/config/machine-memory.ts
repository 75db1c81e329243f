import { totalmem } from "node:os";

/** Bytes of memory that this process may use: the memory of the machine, or the limit of its cgroup if that is lower. */
export function machineMemory(): number {
  const total = totalmem();
  // Without a limit the value is 0, or larger than the memory of any machine.
  const limit = process.constrainedMemory();
  return limit > 0 && limit < total ? limit : total;
}
