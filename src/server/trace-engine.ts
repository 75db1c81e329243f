import { Engine, endTraceStart, startTrace, Table, takeTrace } from "../engine/index.js";
import type { EngineTraces, Tracing } from "../telemetry/tracing.js";

const traces: EngineTraces = {
  start(call) {
    const trace = startTrace();
    try {
      return { result: call(), trace };
    } catch (error) {
      takeTrace(trace);
      throw error;
    } finally {
      endTraceStart();
    }
  },
  end: takeTrace,
};

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
        return tracing.callEngine(span, traces, () => call.apply(this, args));
      };
      Object.defineProperty(prototype, method, { ...descriptor, value });
    }
  }
}
