/** Does something for each of many, for so many at a time; fails with the first that fails. */
export async function concurrently<T>(
  items: Iterable<T>,
  most: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  const worker = async () => {
    for (let next = rest.next(); !next.done; next = rest.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: most }, worker));
}
