import { Task } from "../engine/index.js";
import type { Call } from "./operation.js";

/** A task of the engine that is cancelled if the client disconnects. */
export function cancellableTask(call: Call<unknown, unknown>): Task {
  const task = new Task();
  call.onAbort(() => task.cancel());
  return task;
}
