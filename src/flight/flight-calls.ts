import type { Services } from "../api/services.js";
import type { Authenticator } from "../auth/authenticator.js";
import type { FlightEvent, FlightReply } from "../engine/index.js";
import type { Limiter } from "../limits/limiter.js";
import { FlightCall } from "./flight-call.js";
import { httpStatus } from "./http-status.js";
import { logCall } from "./log-call.js";

export interface FlightDependencies {
  readonly services: Services;
  readonly authenticator: Authenticator;
  readonly limiter?: Limiter | undefined;
}

/** The calls in flight of the engine's Flight SQL server, by their numbers. */
export class FlightCalls {
  readonly #calls = new Map<number, FlightCall>();

  constructor(private readonly dependencies: FlightDependencies) {}

  /** Never throws. */
  readonly onEvent = (event: FlightEvent, reply?: FlightReply): void => {
    const { kind, call: number } = event;
    if (kind === "ended") {
      this.#ended(number, event);
      return;
    }
    if (kind === "identify" && reply) {
      const call = new FlightCall(this.dependencies, event);
      this.#calls.set(number, call);
      call.identify(reply);
      return;
    }
    const call = this.#calls.get(number);
    if (kind === "abort") call?.abort();
    else if (reply && kind !== "identify") call?.answer(kind, event, reply);
  };

  #ended(number: number, event: FlightEvent): void {
    const { report } = event;
    if (!report) return;
    const call = this.#calls.get(number) ?? new FlightCall(this.dependencies, event);
    this.#calls.delete(number);
    call.end(report);
    const { operation, status, ms } = report;
    this.dependencies.services.flightCalls?.count(operation, httpStatus(status), ms);
    logCall(this.dependencies.services.log, report);
  }
}
