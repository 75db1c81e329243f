/**
 * Multipart writes ("uploads" in the API): several requests whose rows become visible as one version.
 *
 * 1. `begin` stores the version that the parts are based on.
 * 2. Each part writes its data files when it arrives. `recordPart` stores what the commit needs to know of it.
 *    So an upload survives a restart, and different servers may receive its parts.
 * 3. `complete` gives one server the right to commit. `committed` stores the new version.
 * 4. `orphanedParts` returns files that no commit will reference: those of abandoned uploads and replaced parts.
 */

/** How a client names an upload. */
export interface MultipartName {
  readonly id: string;
  /** Key of the table. */
  readonly table: string;
  /** Undefined: the main branch. */
  readonly branch: string | undefined;
}

export interface MultipartWrite extends MultipartName {
  /** The version that the parts are based on. */
  readonly version: number;
}

/** A part whose data files are written. */
export interface MultipartPart {
  /** A later part of the same name replaces this one. */
  readonly name: string;
  /** As `Table.writePart` returned them. */
  readonly contents: Buffer;
  readonly overwrite: boolean;
}

/** Files of parts that no version references, as far as the catalog knows. */
export interface OrphanedParts {
  readonly upload: MultipartWrite;
  readonly parts: Buffer[];
  /** The server died during the commit: the table must be checked before the files are removed. */
  readonly maybeCommitted: boolean;
  /**
   * Ends an upload that may be committed, before its files are removed. Returns false when its commit is repeated
   * at this moment: the files must stay then.
   */
  claim(): Promise<boolean>;
  /** To be called after the files are removed. */
  removed(): Promise<void>;
}

/** The work of a request to complete an upload: nothing when it is already committed. */
export type Completion =
  | { readonly version: number }
  | {
      readonly upload: MultipartWrite;
      readonly overwrite: boolean;
      readonly parts: Buffer[];
      /** An earlier attempt may have committed. */
      readonly retried: boolean;
    };

export interface MultipartWrites {
  /** Returns the id of the new upload. @throws code 21 when too many are open */
  begin(upload: Omit<MultipartWrite, "id">): Promise<string>;
  /**
   * Returns an upload that accepts parts.
   *
   * @throws code 13 when it has ended or began more than three days ago, or is of another table or branch
   */
  open(name: MultipartName): Promise<MultipartWrite>;
  /**
   * Stores a part. Returns the part that it replaces.
   *
   * @throws code 13 when the upload has ended, or when other parts have the other mode
   */
  recordPart(id: string, part: MultipartPart): Promise<OrphanedParts | undefined>;
  /**
   * Whether the commit of an upload replaces all rows of the table. Later parts do not change that.
   *
   * @throws code 13 when there is no such upload, or it has no parts
   */
  replacesRows(name: MultipartName): Promise<boolean>;
  /**
   * Returns the parts to commit, or the version of an earlier commit. The upload accepts no more parts.
   *
   * @throws code 13 when there is no such upload, or it has no parts, code 17 while another server commits
   */
  complete(name: MultipartName): Promise<Completion>;
  /** Stores the result of the commit for a day, for clients that repeat their request. */
  committed(id: string, version: number): Promise<void>;
  /** Ends an upload in `state`. Returns undefined when there is none in this state. */
  abandon(name: MultipartName, state: "open" | "committing"): Promise<OrphanedParts | undefined>;
  /**
   * Deletes the uploads on a deleted branch that began before a time, ms since the epoch. The deletion of the branch
   * has removed their files.
   */
  endBranch(table: string, branch: string, before: number): Promise<void>;
  /** The oldest version that an open upload on the main branch is based on. */
  oldestVersion(table: string): Promise<number | undefined>;
  /** Ends the uploads without activity for a day. Returns all parts whose files are to be removed. */
  orphanedParts(): Promise<OrphanedParts[]>;
}
