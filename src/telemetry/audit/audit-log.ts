/** The grant that a request names. Members that the request does not name, or that are not valid, are absent. */
export interface AuditedGrant {
  /** `key:ID`, `user:ISSUER#SUBJECT` or `group:NAME`. */
  readonly subject?: string | undefined;
  /** The name of a key. */
  readonly subject_name?: string | undefined;
  /** `server`, `namespace:a$b` or `table:a$b$t`. */
  readonly object?: string | undefined;
  readonly privileges?: readonly string[] | undefined;
  /** The row filter, SQL. */
  readonly filter?: string | undefined;
  readonly role?: string | undefined;
}

/** An operation that a SQL statement ran, or that its caller may not run. */
export interface AuditedPart {
  readonly operation: string;
  /** An identifier, its components joined by `$`. */
  readonly object?: string | undefined;
  readonly grant?: AuditedGrant | undefined;
}

/**
 * What the audit log says about one request. It never contains a body, the predicate of a query, an option or a key.
 */
export interface AuditEntry {
  /** When the request ended, RFC 3339. */
  readonly time: string;
  readonly request_id: string;
  readonly trace_id?: string | undefined;
  /** The address of the connection. */
  readonly remote: string;
  /** Null if the request has no valid key. */
  readonly identity: { readonly id: string; readonly name: string } | null;
  /** Null if nothing is served at the path. */
  readonly operation: string | null;
  /** The identifier in the path, its components joined by `$`. */
  readonly object?: string | undefined;
  readonly grant?: AuditedGrant | undefined;
  readonly parts?: readonly AuditedPart[] | undefined;
  readonly query?: string | undefined;
  readonly transaction?: string | undefined;
  /** The session of the credentials that the reply has, as the log of the store names it. */
  readonly credentials?: string | undefined;
  /** The version of the table that a change made. */
  readonly version?: number | undefined;
  readonly status: number;
  /** The request had ended, with 504 at its deadline or with 499, before its work ended with this status. */
  readonly after_end?: true | undefined;
  /** The code of the error. */
  readonly error?: number | undefined;
  readonly ms: number;
  /** Rows that the request changed, by kind. */
  readonly rows?: Readonly<Record<string, number>> | undefined;
  readonly request_bytes?: number | undefined;
  /** Bytes of a reply with data. */
  readonly reply_bytes?: number | undefined;
}

/** Counts since the start of the server. */
export interface AuditCounters {
  /** Lines in the file. */
  readonly lines: number;
  /** Lines that are in no file: the disk was full for too long. */
  readonly lost: number;
  readonly writeErrors: number;
  /** Of the copy of the lines in a Lance table; absent: there is none. */
  readonly table?: AuditTableCounters;
}

export interface AuditTableCounters {
  /** Lines in the table. */
  readonly rows: number;
  /** Lines that the table lacks, and the file has. */
  readonly lost: number;
  readonly writeErrors: number;
}

/** The audit log as requests use it. */
export interface AuditLog {
  /** Returns at once. Never throws. */
  write(entry: AuditEntry): void;
  /** Only in the main thread. */
  counters(): AuditCounters;
}

/** The end of the audit log that writes. It exists once in the process, in the main thread. */
export interface AuditLines {
  /** Takes complete lines. Returns at once. Never throws. */
  append(text: string, lines: number): void;
}

/** How long lines wait to be written together, ms: a process that is killed loses them. */
const FLUSH_INTERVAL = 200;
/** Characters of a batch, roughly. */
const BATCH_SIZE = 32 * 1024;

/** Collects the lines of one thread, so that writing costs a request nothing. */
export class AuditBuffer {
  #text = "";
  #lines = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly target: AuditLines) {}

  write(entry: AuditEntry): void {
    this.#text += `${JSON.stringify(entry)}\n`;
    this.#lines++;
    if (this.#text.length >= BATCH_SIZE) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), FLUSH_INTERVAL).unref();
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#lines === 0) return;
    const [text, lines] = [this.#text, this.#lines];
    this.#text = "";
    this.#lines = 0;
    this.target.append(text, lines);
  }
}
