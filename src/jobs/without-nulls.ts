/** Returns the members that have a value: the engine's options must be absent instead of null. */
export function withoutNulls<T extends object>(
  members: {
    [K in keyof T]: T[K] | null | undefined;
  },
): T {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined && value !== null),
  ) as T;
}
