import { ErrorCode, JoustError } from "../errors.js";

/** The part of the memory budget that JSON bodies may take, all together. */
const share = 1 / 16;

/** Room for JSON bodies in memory: many large ones at once are refused before they take it all. */
export class BodyRoom {
  #taken = 0;

  constructor(private readonly limit: number) {}

  static of(memoryBytes: number): BodyRoom {
    return new BodyRoom(Math.floor(memoryBytes * share));
  }

  /** @throws code 21 when others have taken it; one body always has room. */
  take(bytes: number): void {
    if (this.#taken > 0 && this.#taken + bytes > this.limit) {
      throw new JoustError(
        ErrorCode.Throttling,
        "other requests hold the memory that this one's body needs; send it again later",
      );
    }
    this.#taken += bytes;
  }

  giveBack(bytes: number): void {
    this.#taken -= bytes;
  }
}
