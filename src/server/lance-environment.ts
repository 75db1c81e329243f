import { availableParallelism } from "node:os";
import type { Config } from "../config/config.js";

/** Sets what Lance and the engine's allocator read from the environment: once, when they are loaded. */
export function setLanceEnvironment({ cpuThreads, memoryBytes }: Config): void {
  // Left to itself it would compute with two cores fewer.
  const threads = cpuThreads ?? process.env.LANCE_CPU_THREADS ?? availableParallelism();
  process.env.LANCE_CPU_THREADS = String(threads);
  process.env.LANCE_DEFAULT_IO_BUFFER_SIZE ??= String(part(memoryBytes, 1 / 128, 64));
  process.env.LANCE_MEM_POOL_SIZE ??= String(part(memoryBytes, 1 / 24, 256));
  for (const [option, value] of Object.entries(allocator))
    process.env[`MIMALLOC_${option}`] ??= value;
}

/**
 * How the allocator gives memory back. Much is allocated by one thread and freed by another, which
 * may be the last to ask for anything for a while.
 */
const allocator = {
  /** A thread that frees what another has allocated may use it. */
  PAGE_RECLAIM_ON_FREE: "1",
  /** Threads look more often for what others have freed for them. */
  GENERIC_COLLECT: "1000",
  /**
   * What nobody uses is the system's again after so many milliseconds. The first touch of fresh memory
   * costs more than copying an upload into it: what one has left shall be there for the next.
   */
  PURGE_DELAY: "5000",
  /** The system would fill up huge pages again of which a part was given back. */
  ALLOW_THP: "0",
};

/** A part of the memory for one scan or join inside of Lance, bytes; `mostMib` is enough for any. */
const part = (memory: number, share: number, mostMib: number): number =>
  Math.floor(Math.min(memory * share, mostMib * 2 ** 20));
