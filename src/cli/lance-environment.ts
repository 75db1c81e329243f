import { availableParallelism } from "node:os";
import type { Config } from "../config/config.js";

/** Sets what Lance and the engine's allocator read from the environment: once, when they are loaded. */
export function setLanceEnvironment({ cpuThreads, memoryBytes }: Config): void {
  // Left to itself it would compute with two cores fewer.
  const threads = cpuThreads ?? process.env.LANCE_CPU_THREADS ?? availableParallelism();
  process.env.LANCE_CPU_THREADS = String(threads);
  // What threads leave behind when they end goes back to the system.
  process.env.MIMALLOC_ABANDONED_PAGE_PURGE ??= "1";
  process.env.LANCE_DEFAULT_IO_BUFFER_SIZE ??= String(part(memoryBytes, 1 / 128, 64));
  process.env.LANCE_MEM_POOL_SIZE ??= String(part(memoryBytes, 1 / 24, 256));
}

/** A part of the memory for one scan or join inside of Lance, bytes; `mostMib` is enough for any. */
const part = (memory: number, share: number, mostMib: number): number =>
  Math.floor(Math.min(memory * share, mostMib * 2 ** 20));
