import type { MessagePort, Worker } from "node:worker_threads";
import { JoustError } from "../foundation/errors.js";
import { type TraceContext, tracing } from "../telemetry/tracing.js";

/** One end of a channel between two threads. */
export type Port = MessagePort | Worker;

/** The objects whose methods the other thread may call, by name. */
export type Targets = Readonly<Record<string, object>>;

type Message =
  | {
      kind: "call";
      number: number;
      target: string;
      method: string;
      args: unknown[];
      /** The trace that the call belongs to. */
      trace: TraceContext | undefined;
    }
  | { kind: "notification"; target: string; method: string; args: unknown[] }
  | { kind: "value"; number: number; value: unknown }
  | { kind: "failure"; number: number; failure: Failure };

interface Failure {
  name: string;
  message: string;
  stack: string | undefined;
  code: unknown;
  status: unknown;
}

interface PendingCall {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** The other thread has exited. It answers no call. */
export class ThreadExited extends Error {
  constructor() {
    super("the thread has exited");
  }
}

/**
 * Calls methods of objects in another thread of this process. The port copies arguments and results
 * (structured clone), so they are plain values. Every call returns a promise.
 *
 * The comlink package is no replacement: it loses the code and the status of a JoustError, leaves a Buffer
 * a Uint8Array, has no notifications, and needs twice the time per call.
 */
export class ThreadRpc {
  readonly #pending = new Map<number, PendingCall>();
  #nextNumber = 0;
  #exited = false;

  constructor(
    private readonly port: Port,
    private readonly targets: Targets,
  ) {
    port.on("message", (message: Message) => this.#receive(message));
  }

  call(target: string, method: string, args: readonly unknown[]): Promise<unknown> {
    if (this.#exited) return Promise.reject(new ThreadExited());
    const number = this.#nextNumber++;
    return new Promise((resolve, reject) => {
      this.#pending.set(number, { resolve, reject });
      const trace = tracing?.context();
      this.#send({ kind: "call", number, target, method, args: [...args], trace });
    });
  }

  /** The other thread has exited: calls in flight and later ones reject with `ThreadExited`. */
  exit(): void {
    this.#exited = true;
    for (const { reject } of this.#pending.values()) reject(new ThreadExited());
    this.#pending.clear();
  }

  /** Calls a method without waiting for a result. */
  notify(target: string, method: string, args: readonly unknown[]): void {
    this.#send({ kind: "notification", target, method, args: [...args] });
  }

  /** A proxy of an object in the other thread. The members of `local` run in this thread. */
  remote<T extends object>(target: string, local: Partial<T> = {}): T {
    const get = (_: object, method: string) => {
      // `await proxy` reads `then`; it must not call the other thread.
      if (method in local || method === "then") return local[method as keyof T];
      return (...args: unknown[]) => this.call(target, method, args);
    };
    return new Proxy({}, { get }) as T;
  }

  #send(message: Message): void {
    this.port.postMessage(message);
  }

  #receive(message: Message): void {
    if (message.kind === "notification") void this.#run(message);
    else if (message.kind === "call") void this.#answer(message);
    else {
      const pending = this.#pending.get(message.number);
      this.#pending.delete(message.number);
      if (message.kind === "value") pending?.resolve(withBuffers(message.value));
      else pending?.reject(toError(message.failure));
    }
  }

  async #answer(call: Extract<Message, { kind: "call" }>): Promise<void> {
    const { number, trace } = call;
    try {
      const run = () => this.#run(call);
      const name = `thread ${call.target}.${call.method}`;
      const value = await (tracing && trace ? tracing.continueTrace(trace, name, run) : run());
      this.#send({ kind: "value", number, value });
    } catch (error) {
      this.#send({ kind: "failure", number, failure: toFailure(error) });
    }
  }

  #run({ target, method, args }: { target: string; method: string; args: unknown[] }): unknown {
    const object = this.targets[target] as Record<string, (...args: unknown[]) => unknown>;
    return object[method]?.(...(withBuffers(args) as unknown[]));
  }
}

/** The members of an error that structured clone would lose. */
function toFailure(thrown: unknown): Failure {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const { name, message, stack, code, status } = error as Error & Partial<Failure>;
  const cause = thrown instanceof JoustError && thrown.cause instanceof Error && thrown.cause.stack;
  return { name, message, stack: cause || stack, code, status };
}

function toError({ name, message, stack, code, status }: Failure): Error {
  if (name === "JoustError") {
    const cause = Object.assign(new Error(message), { stack });
    return new JoustError(code as JoustError["code"], message, status as number, { cause });
  }
  return Object.assign(new Error(message), { name, stack, code });
}

/** Makes every `Uint8Array` of a copied value a `Buffer` again: structured clone loses the class. */
function withBuffers(value: unknown): unknown {
  if (value instanceof Uint8Array) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  }
  if (Array.isArray(value)) return value.map(withBuffers);
  if (value === null || typeof value !== "object") return value;
  const members = Object.entries(value).map(([name, member]) => [name, withBuffers(member)]);
  return Object.fromEntries(members);
}
