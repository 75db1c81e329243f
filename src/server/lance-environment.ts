import { availableParallelism } from "node:os";
import type { Config } from "../config/config.js";

/**
 * Sets the environment variables of Lance and of the engine's allocator. Call it before the engine is
 * loaded: both read the variables once.
 */
export function setLanceEnvironment({ cpuThreads, memoryBytes }: Config): void {
  // By default Lance leaves two cores idle.
  const threads = cpuThreads ?? process.env.LANCE_CPU_THREADS ?? availableParallelism();
  process.env.LANCE_CPU_THREADS = String(threads);
  process.env.LANCE_DEFAULT_IO_BUFFER_SIZE ??= String(memoryShare(memoryBytes, 1 / 128, 64));
  process.env.LANCE_MEM_POOL_SIZE ??= String(memoryShare(memoryBytes, 1 / 24, 256));
  for (const [option, value] of Object.entries(mimallocOptions))
    process.env[`MIMALLOC_${option}`] ??= value;
}

/**
 * Options of mimalloc that return memory to the system. One thread allocates much memory and another
 * thread frees it; the allocating thread may then be idle for a long time.
 */
const mimallocOptions = {
  /** A thread that frees memory of another thread may reuse the page. */
  PAGE_RECLAIM_ON_FREE: "1",
  /** Threads check more often for memory that other threads have freed. */
  GENERIC_COLLECT: "1000",
  /**
   * Delay before unused memory is returned to the system, ms. The first access to fresh memory costs more
   * than copying an upload into it, so the next upload reuses the memory of the last one.
   */
  PURGE_DELAY: "5000",
  /** With transparent huge pages the system would refill a page that was returned in part. */
  ALLOW_THP: "0",
};

/** Bytes for one scan or join in Lance. `mostMib` is enough for every scan or join. */
const memoryShare = (memory: number, share: number, mostMib: number): number =>
  Math.floor(Math.min(memory * share, mostMib * 2 ** 20));
