/** Bound parameters of one statement. SQLite accepts 32,766 and Postgres 65,535. */
const CHUNK = 500;

/** Splits the values of a statement that binds a parameter for each of them. */
export function* chunks<T>(values: readonly T[]): Generator<T[]> {
  for (let start = 0; start < values.length; start += CHUNK) {
    yield values.slice(start, start + CHUNK);
  }
}
