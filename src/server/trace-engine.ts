import { Engine, Table } from "../engine/index.js";
import type { Tracing } from "../telemetry/tracing.js";

/** Records a span for each call of an asynchronous method of the engine. Called at most once in each thread. */
export function traceEngine(tracing: Tracing): void {
  for (const [name, { prototype }] of Object.entries({ Engine, Table })) {
    for (const [method, descriptor] of Object.entries(
      Object.getOwnPropertyDescriptors(prototype),
    )) {
      const { value: call } = descriptor;
      if (method === "constructor" || typeof call !== "function") continue;
      const span = `engine ${name}.${method}`;
      const value = function (this: unknown, ...args: unknown[]): unknown {
        return tracing.callEngine(span, () => call.apply(this, args));
      };
      Object.defineProperty(prototype, method, { ...descriptor, value });
    }
  }
}
