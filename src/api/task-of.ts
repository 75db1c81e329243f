import { Task } from "../engine/index.js";
import type { Call } from "./operation.js";

/** Work that stops when the client goes away. */
export function taskOf(call: Call<unknown, unknown>): Task {
  const task = new Task();
  call.onAbort(() => task.cancel());
  return task;
}
