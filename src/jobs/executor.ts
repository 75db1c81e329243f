import type { RemoteWork } from "../engine/index.js";

/** A job whose work workers outside of this process do. */
export interface RemoteJob {
  /** The id of the job. */
  readonly id: string;
  /** When the job was made. The files of its workers are not older. */
  readonly createdMillis?: number;
  readonly work: RemoteWork;
  /** Of its table. */
  readonly location: string;
  /** Of the object store of its table. */
  readonly storageOptions: Readonly<Record<string, string>>;
  /** The tables from which the workers read, if they are others. */
  readonly sources?: readonly Pick<RemoteJob, "location" | "storageOptions">[];
}

/** Runs the workers of jobs. The engine publishes the work, and checks and commits what the workers hand over. */
export interface Executor {
  /** Work that reads fewer bytes of files stays in the server, unless it calls functions. */
  readonly minBytes: number;
  /**
   * Starts workers as soon as the job has work for them, or attaches to those that an earlier run of the job started. If
   * they fail, the work fails. Resolves after `signal` has aborted and the workers are being stopped. If its reason is
   * `SERVER_STOPS`, the workers continue, and the next run of the job attaches to them. Never rejects.
   */
  run(job: RemoteJob, signal: AbortSignal): Promise<void>;
}
