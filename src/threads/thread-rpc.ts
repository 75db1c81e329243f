import type { MessagePort, Worker } from "node:worker_threads";
import { JoustError } from "../foundation/errors.js";

/** One end of a channel between two threads. */
export type Port = MessagePort | Worker;

/** What the other thread may call: objects with methods, by name. */
export type Targets = Readonly<Record<string, object>>;

type Message =
  | { kind: "call"; number: number; target: string; method: string; args: unknown[] }
  | { kind: "tell"; target: string; method: string; args: unknown[] }
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

/**
 * Another thread of this process, whose objects are called as if they were here: arguments and results
 * are copied, so they are plain values, and every call is a promise.
 */
export class ThreadRpc {
  readonly #waiting = new Map<number, PendingCall>();
  #next = 0;

  constructor(
    private readonly port: Port,
    private readonly targets: Targets,
  ) {
    port.on("message", (message: Message) => this.#take(message));
  }

  call(target: string, method: string, args: readonly unknown[]): Promise<unknown> {
    const number = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject });
      this.#send({ kind: "call", number, target, method, args: [...args] });
    });
  }

  /** A call without an answer. */
  notify(target: string, method: string, args: readonly unknown[]): void {
    this.#send({ kind: "tell", target, method, args: [...args] });
  }

  /** The other thread's object of that name; members of `own` are this thread's. */
  remote<T extends object>(target: string, own: Partial<T> = {}): T {
    const get = (_: object, method: string) => {
      // Whoever awaits the object itself must not call the other thread.
      if (method in own || method === "then") return own[method as keyof T];
      return (...args: unknown[]) => this.call(target, method, args);
    };
    return new Proxy({}, { get }) as T;
  }

  #send(message: Message): void {
    this.port.postMessage(message);
  }

  #take(message: Message): void {
    if (message.kind === "tell") void this.#run(message);
    else if (message.kind === "call") void this.#answer(message);
    else {
      const waiting = this.#waiting.get(message.number);
      this.#waiting.delete(message.number);
      if (message.kind === "value") waiting?.resolve(asBuffers(message.value));
      else waiting?.reject(toError(message.failure));
    }
  }

  async #answer(call: Extract<Message, { kind: "call" }>): Promise<void> {
    const { number } = call;
    try {
      this.#send({ kind: "value", number, value: await this.#run(call) });
    } catch (error) {
      this.#send({ kind: "failure", number, failure: toFailure(error) });
    }
  }

  #run({ target, method, args }: { target: string; method: string; args: unknown[] }): unknown {
    const object = this.targets[target] as Record<string, (...args: unknown[]) => unknown>;
    return object[method]?.(...(asBuffers(args) as unknown[]));
  }
}

function toFailure(error: unknown): Failure {
  const raised = error instanceof Error ? error : new Error(String(error));
  const { name, message, stack, code, status } = raised as Error & Partial<Failure>;
  const cause = error instanceof JoustError && error.cause instanceof Error && error.cause.stack;
  return { name, message, stack: cause || stack, code, status };
}

function toError({ name, message, stack, code, status }: Failure): Error {
  if (name === "JoustError") {
    const cause = Object.assign(new Error(message), { stack });
    return new JoustError(code as JoustError["code"], message, status as number, { cause });
  }
  return Object.assign(new Error(message), { name, stack, code });
}

/** A copied `Buffer` comes as a plain array of bytes. */
function asBuffers(value: unknown): unknown {
  if (value instanceof Uint8Array) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  }
  if (Array.isArray(value)) return value.map(asBuffers);
  if (value === null || typeof value !== "object") return value;
  const members = Object.entries(value).map(([name, member]) => [name, asBuffers(member)]);
  return Object.fromEntries(members);
}
