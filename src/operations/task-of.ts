import { Task } from "../engine/index.js";
import type { Call } from "./operation.js";

/** Work that stops when the client goes away. */
export function taskOf(call: Call<unknown, unknown>): Task {
  const task = new Task();
  call.signal.addEventListener("abort", () => task.cancel(), { once: true });
  return task;
}
