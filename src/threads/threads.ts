/** The threads that answer requests, as one of them sees them. */
export interface Threads {
  /** Ends what any of them does with a table that is not the server's own any more. */
  leaveTable(key: string): Promise<void>;
}
