/**
 * Uploads: writes that come in several parts and become visible as one version.
 *
 * Each part's data files are written when the part arrives; what is kept of it here is all that the
 * commit needs, so that an upload survives a restart and its parts may come to different servers.
 */

/** What a client says of an upload. */
export interface MultipartName {
  readonly id: string;
  /** Key of the table. */
  readonly table: string;
  /** Undefined: the main branch. */
  readonly branch: string | undefined;
}

/** An upload that was begun. */
export interface MultipartWrite extends MultipartName {
  /** The version that the parts are written against. */
  readonly version: number;
}

/** What a client sent of an upload, written to the table's files already. */
export interface MultipartPart {
  /** A part of the same name takes this one's place. */
  readonly name: string;
  /** As the engine gave them; see `Table.writePart`. */
  readonly contents: Buffer;
  readonly overwrite: boolean;
}

/** Files that no version refers to, or none that is known. */
export interface OrphanedParts {
  readonly upload: MultipartWrite;
  readonly parts: Buffer[];
  /** The upload was being committed when its server went: ask the table before anything is removed. */
  readonly doubtful: boolean;
  /**
   * Ends a doubtful upload, before its files are removed; false when its commit is being tried again:
   * then they stay.
   */
  claim(): Promise<boolean>;
  /** To be called when the files are gone. */
  removed(): Promise<void>;
}

/** What there is to do for a request to complete an upload. */
export type Completion =
  | { readonly version: number }
  | {
      readonly upload: MultipartWrite;
      readonly overwrite: boolean;
      readonly parts: Buffer[];
      /** An earlier try may have made the commit. */
      readonly retried: boolean;
    };

export interface MultipartWrites {
  /** Begins an upload; its id. @throws code 21 when too many are open */
  begin(upload: Omit<MultipartWrite, "id">): Promise<string>;
  /**
   * The upload, of that table and branch, when it takes parts. @throws code 13 when it does not: it has
   * ended, or began more than three days ago
   */
  open(name: MultipartName): Promise<MultipartWrite>;
  /**
   * Keeps a part; gives what is left of one that it replaces. @throws code 13 when the upload has
   * ended, or when other parts of it are written in the other mode
   */
  recordPart(id: string, part: MultipartPart): Promise<OrphanedParts | undefined>;
  /**
   * The right to commit, or the version of the commit that was made. No more parts are taken from then
   * on. @throws code 13 for an upload that there is not, code 17 while another server commits
   */
  complete(name: MultipartName): Promise<Completion>;
  /** The commit was made: it is remembered for a day, for clients that ask again. */
  committed(id: string, version: number): Promise<void>;
  /** Ends an upload that is in `state`; undefined when it is in another, or there is none. */
  abandon(name: MultipartName, state: "open" | "committing"): Promise<OrphanedParts | undefined>;
  /**
   * Forgets the uploads on a branch that was deleted, and with it what their parts wrote: those that began
   * before a time, ms since the epoch.
   */
  endBranch(table: string, branch: string, before: number): Promise<void>;
  /** The oldest version that an upload in progress on the table's main branch began at. */
  oldestVersion(table: string): Promise<number | undefined>;
  /** What was left behind: uploads idle for a day, and files that could not be removed before. */
  orphanedParts(): Promise<OrphanedParts[]>;
}
