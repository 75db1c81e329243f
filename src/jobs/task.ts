import { Task } from "../engine/index.js";

/** Runs work of the engine. It ends soon after `signal` aborts, and does not begin afterwards. */
export async function withTask<T>(
  signal: AbortSignal,
  work: (task: Task) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const task = new Task();
  const cancel = () => task.cancel();
  signal.addEventListener("abort", cancel);
  try {
    return await work(task);
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}
