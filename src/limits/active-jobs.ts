import type { JobReservation, JobSubject } from "./limit-owner.js";

/** The jobs that requests of this process have queued and that have not ended, for each limited subject. */
export class ActiveJobs {
  /** By subject: ids of jobs, and tickets of requests that are about to queue one. */
  readonly #active = new Map<string, Set<string>>();
  readonly #reservations = new Map<string, readonly JobSubject[]>();
  #lastTicket = 0;

  /** `isActive`: whether a job is queued or running. */
  constructor(private readonly isActive: (job: string) => Promise<boolean>) {}

  async reserve(subjects: readonly JobSubject[]): Promise<JobReservation> {
    for (const subject of subjects) await this.#forgetEnded(subject);
    // No other request runs between the check and the reservation.
    const refused = subjects.findIndex(({ name, limit }) => this.#of(name).size >= limit);
    if (refused >= 0) return { refused };
    const ticket = `ticket ${++this.#lastTicket}`;
    for (const { name } of subjects) this.#of(name).add(ticket);
    this.#reservations.set(ticket, subjects);
    return { ticket };
  }

  end(ticket: string, job: string | undefined): void {
    for (const { name } of this.#reservations.get(ticket) ?? []) {
      const active = this.#of(name);
      active.delete(ticket);
      // Equal requests share a job, which counts once.
      if (job !== undefined) active.add(job);
      if (active.size === 0) this.#active.delete(name);
    }
    this.#reservations.delete(ticket);
  }

  /** Asks for the state of the jobs only when the limit is reached. */
  async #forgetEnded({ name, limit }: JobSubject): Promise<void> {
    const active = this.#of(name);
    if (active.size < limit) return;
    const jobs = [...active].filter((id) => !this.#reservations.has(id));
    await Promise.all(
      jobs.map(async (job) => {
        if (!(await this.isActive(job))) active.delete(job);
      }),
    );
  }

  #of(name: string): Set<string> {
    let active = this.#active.get(name);
    if (!active) {
      active = new Set();
      this.#active.set(name, active);
    }
    return active;
  }
}
