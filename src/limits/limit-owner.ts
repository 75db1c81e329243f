/** Live rows, and bytes of the data files and indexes that the newest versions reference. */
export interface Usage {
  rows: number;
  bytes: number;
}

/** Tables whose rows and bytes count together: those of a namespace and below it, or those that a caller created. */
export type StorageScope =
  | { readonly namespace: readonly string[] }
  /** The id of the caller. */
  | { readonly creator: string };

/** A limit of rows or bytes. */
export type StorageLimit = StorageScope & { readonly rows?: number; readonly bytes?: number };

/** A caller or a namespace whose jobs are limited. */
export interface JobSubject {
  /** Unique. */
  readonly name: string;
  readonly limit: number;
}

/** Place for one job, or the index of the subject that has none left. */
export type JobReservation = { readonly ticket: string } | { readonly refused: number };

/** The limits that the main thread decides, because they read the catalog. Worker threads call it. */
export interface LimitOwner {
  /** What the tables of each limit hold. */
  storageOf(limits: readonly StorageLimit[]): Promise<Usage[]>;
  /** Records that a request changed the rows of a table. */
  tableChanged(id: readonly string[]): void;
  /** Reserves place for a job of each subject. `endReservation` has to follow. */
  reserveJob(subjects: readonly JobSubject[]): Promise<JobReservation>;
  /** `job`: the id of the job that the request queued, if it did. */
  endReservation(ticket: string, job: string | undefined): void;
}
